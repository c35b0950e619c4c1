/* See notebook_mac.h. What is hashed is JSON in one form: compact, keys sorted,
 * texts in one piece; so that a program that splits lines otherwise changes
 * nothing. */
#include "notebooks/formats/notebook_mac.h"

#include "notebooks/journal/segment.h"

#include <string.h>

void notebook_mac_init(notebook_mac_t *self, const uint8_t *key)
{
    segment_key_t keys;

    segment_key_set(&keys, key);
    crypto_generichash(self->key, sizeof self->key,
                       (const uint8_t *) "notebook", 8, keys.chain,
                       sizeof keys.chain);
    crypto_generichash_init(&self->cells, self->key, sizeof self->key,
                            NOTEBOOK_MAC_SIZE);
}

/* JSON on its way into a hash. */
typedef struct {
    crypto_generichash_state hash;
    size_t size;
    unsigned char text[4096];
} hasher_t;

static int add_text(const char *text, size_t size, void *arg)
{
    hasher_t *self = arg;

    if (size > sizeof self->text - self->size) {
        crypto_generichash_update(&self->hash, self->text, self->size);
        self->size = 0;
    }
    if (size > sizeof self->text) {
        crypto_generichash_update(&self->hash, (const uint8_t *) text, size);
        return 0;
    }
    memcpy(self->text + self->size, text, size);
    self->size += size;
    return 0;
}

/* Returns what the MAC covers of a cell, for the caller to free. */
static json_t *canonical(const notebook_cell_t *cell)
{
    json_t *json = notebook_cell_json(cell);
    json_auto_t *own = json_copy(json_object_get(cell->metadata, "hearth"));

    json_object_del(own, "mac");
    json_object_del(json, "metadata");
    json_object_del(json, "attachments");
    json_object_set_new(json, "metadata", json_object());
    json_t *metadata = json_object_get(json, "metadata");
    if (own)
        json_object_set(metadata, "hearth", own);
    json_t *timing = json_object_get(cell->metadata, "execution");
    if (timing)
        json_object_set(metadata, "execution", timing);
    return json;
}

void notebook_mac_cell(const notebook_mac_t *self, const notebook_cell_t *cell,
                       char ret_hex[NOTEBOOK_MAC_HEX_SIZE])
{
    json_auto_t *json = canonical(cell);
    uint8_t hash[NOTEBOOK_MAC_SIZE];
    hasher_t hasher = {.size = 0};

    crypto_generichash_init(&hasher.hash, self->key, sizeof self->key,
                            sizeof hash);
    (void) json_dump_callback(json, add_text, &hasher,
                              JSON_COMPACT | JSON_SORT_KEYS);
    crypto_generichash_update(&hasher.hash, hasher.text, hasher.size);
    crypto_generichash_final(&hasher.hash, hash, sizeof hash);
    sodium_bin2hex(ret_hex, NOTEBOOK_MAC_HEX_SIZE, hash, sizeof hash);
}

void notebook_mac_add(notebook_mac_t *self, const char *hex)
{
    crypto_generichash_update(&self->cells, (const uint8_t *) hex, strlen(hex));
}

void notebook_mac_finish(notebook_mac_t *self, const char *session,
                         const journal_head_t *head,
                         char ret_hex[NOTEBOOK_MAC_HEX_SIZE])
{
    uint8_t bytes[8];
    uint8_t hash[NOTEBOOK_MAC_SIZE];

    le_put64(bytes, head->seq);
    crypto_generichash_update(&self->cells, bytes, sizeof bytes);
    crypto_generichash_update(&self->cells, head->chain, sizeof head->chain);
    crypto_generichash_update(&self->cells, (const uint8_t *) session,
                              strlen(session));
    crypto_generichash_final(&self->cells, hash, sizeof hash);
    sodium_bin2hex(ret_hex, NOTEBOOK_MAC_HEX_SIZE, hash, sizeof hash);
}
