/* See upload.h. */
#include "gateway/http/rpc/upload.h"

#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/rpc/files_client.h"

#include <sodium.h>

#include <string.h>

#define DIGEST_SIZE 32 /* BLAKE2b */

struct push {
    http_t *http;   /* borrowed */
    void *owner;    /* borrowed */
    push_fn *fn;    /* of the owner */
    char *transfer; /* owned; NULL: not open */
    uint64_t size;  /* bytes that were written or are on their way */
};

static void on_step(void *owner, const json_t *reply, bytes_t data)
{
    push_t *self = owner;
    const char *transfer = model_text(reply, "transfer");

    (void) data;
    if (*transfer && !self->transfer)
        self->transfer = mem_text(transfer);
    self->fn(self->owner, reply);
}

push_t *push_new(exchange_t *exchange, const char *session, const char *path,
                 bool replaces, void *owner, push_fn *fn)
{
    push_t *self = mem_new(sizeof *self);

    self->http = exchange->http;
    push_give(self, owner, fn);
    courier_begin(exchange, self, "files_put_request",
                  json_pack("{s:s,s:s,s:b}", "id", session, "path", path,
                            "replace", replaces),
                  on_step);
    return self;
}

void push_destroy(push_t **self_p)
{
    push_t *self = *self_p;

    if (!self)
        return;
    courier_forget(self->http, self);
    courier_close(self->http, self->transfer);
    free(self->transfer);
    free(self);
    *self_p = NULL;
}

void push_give(push_t *self, void *owner, push_fn *fn)
{
    self->owner = owner;
    self->fn = fn;
}

void push_write(push_t *self, buffer_t *piece)
{
    uint8_t sum[DIGEST_SIZE];
    char text[2 * DIGEST_SIZE + 1];
    uint64_t offset = self->size;

    crypto_generichash(sum, sizeof sum, piece->data, piece->size, NULL, 0);
    sodium_bin2hex(text, sizeof text, sum, sizeof sum);
    self->size += piece->size;
    courier_order(self->http, self, "files_write_request",
                  json_pack("{s:s,s:I,s:s}", "transfer", self->transfer,
                            "offset", (json_int_t) offset, "digest", text),
                  piece, on_step);
}

/* Afterwards there is no transfer that could be closed. */
static void on_committed(void *owner, const json_t *reply, bytes_t data)
{
    push_t *self = owner;

    (void) data;
    if (strcmp(model_text(reply, "status"), "ok") == 0) {
        free(self->transfer);
        self->transfer = NULL;
    }
    self->fn(self->owner, reply);
}

void push_commit(push_t *self)
{
    courier_order(self->http, self, "files_commit_request",
                  json_pack("{s:s,s:I}", "transfer", self->transfer, "size",
                            (json_int_t) self->size),
                  NULL, on_committed);
}

uint64_t push_size(const push_t *self)
{
    return self->size;
}
