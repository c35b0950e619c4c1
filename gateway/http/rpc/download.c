/* See download.h. */
#include "gateway/http/rpc/download.h"
#include "gateway/http/core/model.h"

#include "gateway/http/rpc/files_client.h"

#include <string.h>

struct download {
    http_t *http;             /* borrowed */
    void *owner;              /* borrowed */
    download_ready_fn *ready; /* of the owner */
    json_t *answer;           /* owned; NULL: not yet */
    char *transfer;           /* owned; NULL: not open */
    uint64_t size;            /* of the file */
    uint64_t asked;           /* where the next request begins */
    uint64_t end;             /* where the download ends */
    buffer_t piece;           /* received bytes, ... */
    uint64_t hole;            /* ... followed by this many zeros */
    bool is_asked;            /* a request is under way ... */
    bool is_stale;            /* ... and its answer is no longer needed */
    bool is_failed;
};

static bool is_ok(const json_t *reply)
{
    return strcmp(model_text(reply, "status"), "ok") == 0;
}

static void set_answer(download_t *self, const json_t *reply)
{
    json_decref(self->answer);
    self->answer = json_deep_copy(reply);
    self->is_failed = !is_ok(reply);
}

static uint64_t number(const json_t *object, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(object, name));

    return value > 0 ? (uint64_t) value : 0;
}

static void on_opened(void *owner, const json_t *reply, bytes_t data)
{
    download_t *self = owner;

    (void) data;
    set_answer(self, reply);
    if (!self->is_failed) {
        self->transfer = mem_text(model_text(reply, "transfer"));
        self->size = number(json_object_get(reply, "entry"), "size");
        self->end = self->size;
    }
    self->ready(self->owner);
}

download_t *download_new(exchange_t *exchange, const char *session,
                         const char *path, void *owner,
                         download_ready_fn *ready)
{
    download_t *self = mem_new(sizeof *self);

    self->http = exchange->http;
    self->owner = owner;
    self->ready = ready;
    files_client_begin(exchange, self, "files_get_request",
                       json_pack("{s:s,s:s}", "id", session, "path", path),
                       on_opened);
    return self;
}

void download_destroy(download_t **self_p)
{
    download_t *self = *self_p;

    if (!self)
        return;
    files_client_forget(self->http, self);
    files_client_close(self->http, self->transfer);
    json_decref(self->answer);
    free(self->transfer);
    buffer_reset(&self->piece);
    free(self);
    *self_p = NULL;
}

void download_give(download_t *self, void *owner, download_ready_fn *ready)
{
    self->owner = owner;
    self->ready = ready;
}

const json_t *download_answer(const download_t *self)
{
    return self->answer;
}

uint64_t download_size(const download_t *self)
{
    return self->size;
}

static void ask(download_t *self);

static void on_piece(void *owner, const json_t *reply, bytes_t data)
{
    download_t *self = owner;
    uint64_t left = self->end - self->asked;

    self->is_asked = false;
    if (self->is_stale) {
        self->is_stale = false;
        ask(self);
        return;
    }
    if (!is_ok(reply)) {
        set_answer(self, reply);
    } else {
        uint64_t hole = number(reply, "hole");

        /* A hole can be longer than the requested part. */
        self->hole = hole < left ? hole : left;
        buffer_append(&self->piece, data.bytes, data.size);
        self->asked += self->hole + data.size;
    }
    self->ready(self->owner);
}

/* Requests the next piece after the last one was taken. */
static void ask(download_t *self)
{
    uint64_t left = self->end - self->asked;

    if (self->is_asked || self->is_failed || !left)
        return;
    self->is_asked = true;
    files_client_ask_for(self->http, self, "files_read_request",
                         json_pack("{s:s,s:I,s:I}", "transfer", self->transfer,
                                   "offset", (json_int_t) self->asked, "size",
                                   (json_int_t) (left < FILES_CLIENT_PIECE
                                                     ? left
                                                     : FILES_CLIENT_PIECE)),
                         NULL, on_piece);
}

void download_seek(download_t *self, uint64_t from, uint64_t size)
{
    self->asked = from;
    self->end = from + size;
    self->hole = 0;
    buffer_clear(&self->piece);
    self->is_stale = self->is_asked;
}

static void take_zeros(download_t *self, buffer_t *out)
{
    size_t part = self->hole < FILES_CLIENT_PIECE ? (size_t) self->hole
                                                  : FILES_CLIENT_PIECE;

    memset(buffer_reserve(out, part), 0, part);
    out->size += part;
    self->hole -= part;
}

int download_next(download_t *self, buffer_t *out)
{
    if (self->is_failed)
        return -1;
    if (self->piece.size) {
        buffer_append(out, self->piece.data, self->piece.size);
        buffer_clear(&self->piece);
    } else if (self->hole) {
        take_zeros(self, out);
    }
    if (!self->hole && !self->piece.size)
        ask(self);
    return self->hole || self->is_asked;
}
