/* See seal.h. What is hashed is JSON in one form: compact, keys sorted, texts
 * in one piece; so that a program that splits lines otherwise changes
 * nothing. */
#include "notebooks/seal.h"

#include "notebooks/journal/segment.h"

#include <string.h>

void seal_init(seal_t *self, const uint8_t *key)
{
    segment_key_t keys;

    segment_key_set(&keys, key);
    crypto_generichash(self->key, sizeof self->key,
                       (const uint8_t *) "notebook", 8, keys.chain,
                       sizeof keys.chain);
    crypto_generichash_init(&self->cells, self->key, sizeof self->key,
                            SEAL_SIZE);
}

/* What the seal covers of a cell. */
static char *canonical(const notebook_cell_t *cell)
{
    json_auto_t *json = notebook_cell_json(cell);
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
    return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
}

void seal_cell(const seal_t *self, const notebook_cell_t *cell,
               char ret_hex[SEAL_HEX_SIZE])
{
    cleanup_free char *text = canonical(cell);
    uint8_t hash[SEAL_SIZE];

    crypto_generichash(hash, sizeof hash, (uint8_t *) text, strlen(text),
                       self->key, sizeof self->key);
    sodium_bin2hex(ret_hex, SEAL_HEX_SIZE, hash, sizeof hash);
}

void seal_add(seal_t *self, const char *hex)
{
    crypto_generichash_update(&self->cells, (const uint8_t *) hex, strlen(hex));
}

void seal_finish(seal_t *self, const char *session, const journal_head_t *head,
                 char ret_hex[SEAL_HEX_SIZE])
{
    uint8_t bytes[8];
    uint8_t hash[SEAL_SIZE];

    le_put64(bytes, head->seq);
    crypto_generichash_update(&self->cells, bytes, sizeof bytes);
    crypto_generichash_update(&self->cells, head->chain, sizeof head->chain);
    crypto_generichash_update(&self->cells, (const uint8_t *) session,
                              strlen(session));
    crypto_generichash_final(&self->cells, hash, sizeof hash);
    sodium_bin2hex(ret_hex, SEAL_HEX_SIZE, hash, sizeof hash);
}
