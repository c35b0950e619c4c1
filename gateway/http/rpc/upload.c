/* See upload.h. */
#include "gateway/http/rpc/upload.h"
#include "gateway/http/core/model.h"

#include "gateway/http/rpc/files_client.h"
#include "protocol/piece_digest.h"

#include <string.h>

struct upload {
    http_t *http;   /* borrowed */
    void *owner;    /* borrowed */
    upload_fn *fn;  /* of the owner */
    char *transfer; /* owned; NULL: not open */
    uint64_t size;  /* bytes that were written or sent */
};

static void on_step(void *owner, const json_t *reply, bytes_t data)
{
    upload_t *self = owner;
    const char *transfer = model_text(reply, "transfer");

    (void) data;
    if (*transfer && !self->transfer)
        self->transfer = mem_text(transfer);
    self->fn(self->owner, reply);
}

upload_t *upload_new(exchange_t *exchange, const char *session,
                     const char *path, bool replaces, void *owner,
                     upload_fn *fn)
{
    upload_t *self = mem_new(sizeof *self);

    self->http = exchange->http;
    upload_give(self, owner, fn);
    files_client_begin(exchange, self, "files_put_request",
                       json_pack("{s:s,s:s,s:b}", "id", session, "path", path,
                                 "replace", replaces),
                       on_step);
    return self;
}

void upload_destroy(upload_t **self_p)
{
    upload_t *self = *self_p;

    if (!self)
        return;
    files_client_forget(self->http, self);
    files_client_close(self->http, self->transfer);
    free(self->transfer);
    free(self);
    *self_p = NULL;
}

void upload_give(upload_t *self, void *owner, upload_fn *fn)
{
    self->owner = owner;
    self->fn = fn;
}

void upload_write(upload_t *self, buffer_t *piece)
{
    char text[PIECE_DIGEST_SIZE];
    uint64_t offset = self->size;

    piece_digest(buffer_bytes(piece), text);
    self->size += piece->size;
    files_client_ask_for(self->http, self, "files_write_request",
                         json_pack("{s:s,s:I,s:s}", "transfer", self->transfer,
                                   "offset", (json_int_t) offset, "digest",
                                   text),
                         piece, on_step);
}

/* Takes the answer to the commit, after which there is no transfer to close. */
static void on_committed(void *owner, const json_t *reply, bytes_t data)
{
    upload_t *self = owner;

    (void) data;
    if (strcmp(model_text(reply, "status"), "ok") == 0) {
        free(self->transfer);
        self->transfer = NULL;
    }
    self->fn(self->owner, reply);
}

void upload_commit(upload_t *self)
{
    files_client_ask_for(self->http, self, "files_commit_request",
                         json_pack("{s:s,s:I}", "transfer", self->transfer,
                                   "size", (json_int_t) self->size),
                         NULL, on_committed);
}

uint64_t upload_size(const upload_t *self)
{
    return self->size;
}
