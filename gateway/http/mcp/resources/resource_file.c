/* See resource_file.h. Bytes that are UTF-8 are a text, others a blob. What is
 * too big is refused with a sentence that says how to get it. */
#include "gateway/http/mcp/resources/resource_file.h"

#include "gateway/http/contents/contents_model.h"
#include "gateway/http/core/model.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "gateway/http/rpc/download.h"
#include "gateway/http/rpc/export_worker.h"

#include <sodium.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* --- Answers --- */

void resource_answer(mcp_call_t *call, const char *type, const char *member,
                     json_t *value)
{
    json_t *result = json_pack("{s:[{s:O,s:s,s:o}]}", "contents", "uri",
                               json_object_get(call->message.params, "uri"),
                               "mimeType", type, member, value);

    call_add_lifetime(call, result, 0, false);
    call_result(call, result);
}

void resource_refuse(mcp_call_t *call)
{
    json_t *uri = json_object_get(call->message.params, "uri");

    call_error(call, 400, RPC_INVALID_PARAMS,
               uri ? json_pack("{s:O}", "uri", uri) : NULL,
               "there is no such resource");
}

static void refuse_size(mcp_call_t *call, uint64_t size, const char *way)
{
    call_error(call, 413, RPC_TOO_LARGE, NULL,
               "the resource has %" PRIu64 " bytes, and %u is the most that is "
               "sent; %s",
               size, RESOURCE_MAX, way);
}

static json_t *encode(const buffer_t *bytes)
{
    size_t size =
        sodium_base64_encoded_len(bytes->size, sodium_base64_VARIANT_ORIGINAL);
    cleanup_free char *text = mem_new(size);

    sodium_bin2base64(text, size,
                      bytes->data ? bytes->data : (const uint8_t *) "",
                      bytes->size, sodium_base64_VARIANT_ORIGINAL);
    return json_string(text);
}

/* Answers with the bytes: as a text if they are one. */
static void answer_bytes(mcp_call_t *call, const char *path,
                         const buffer_t *bytes)
{
    const char *type = contents_mimetype(path, NULL);
    const char *data = bytes->size ? (const char *) bytes->data : "";
    bool is_text =
        strncmp(type, "image/", 6) != 0 && !memchr(data, 0, bytes->size);
    json_t *text = is_text ? json_stringn(data, bytes->size) : NULL;

    if (text)
        resource_answer(call, contents_mimetype(path, "text"), "text", text);
    else
        resource_answer(call, type, "blob", encode(bytes));
}

/* --- A file --- */

typedef struct {
    mcp_call_t *call;     /* borrowed: its owner */
    download_t *download; /* owned */
    char *path;           /* owned */
    buffer_t bytes;       /* that were read */
} file_t;

static void destroy(void **self_p)
{
    file_t *self = *self_p;

    if (!self)
        return;
    download_destroy(&self->download);
    free(self->path);
    buffer_reset(&self->bytes);
    free(self);
    *self_p = NULL;
}

/* Returns true if the file was opened, and can still be read. */
static bool is_readable(const file_t *self)
{
    const json_t *answer = download_answer(self->download);

    if (strcmp(model_text(answer, "status"), "ok") == 0)
        return true;
    call_error(self->call, 400, RPC_INVALID_PARAMS,
               json_pack("{s:O}", "uri",
                         json_object_get(self->call->message.params, "uri")),
               "%.200s", model_text(answer, "evalue"));
    return false;
}

static void on_bytes(void *owner)
{
    file_t *self = owner;
    size_t before;
    int r;

    if (self->call->is_answered || !is_readable(self))
        return;
    if (download_size(self->download) > RESOURCE_MAX) {
        refuse_size(self->call, download_size(self->download),
                    "read it in parts by the tool files");
        return;
    }
    do {
        before = self->bytes.size;
        r = download_next(self->download, &self->bytes);
    } while (r > 0 && self->bytes.size > before);
    if (r < 0)
        (void) is_readable(self);
    else if (r == 0)
        answer_bytes(self->call, self->path, &self->bytes);
}

void resource_file_read(mcp_call_t *call, const char *session, const char *path)
{
    file_t *self = mem_new(sizeof *self);

    self->call = call;
    self->path = mem_text(path);
    call_keep(call, self, destroy, NULL);
    self->download =
        download_new(call->exchange, session, path, self, on_bytes);
}

/* --- A notebook --- */

static void on_notebook(exchange_t *exchange, const export_worker_result_t *it)
{
    mcp_call_t *call = call_of(exchange);
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    ssize_t got;

    if (it->r < 0) {
        call_error(call, 500, RPC_INTERNAL_ERROR, NULL, "%s", it->fault.text);
        return;
    }
    if (it->size > RESOURCE_MAX) {
        refuse_size(call, it->size,
                    "download it from /files/recordings of the gateway");
        return;
    }
    do {
        got = read(it->fd, buffer_reserve(&bytes, it->size + 1), it->size + 1);
        bytes.size += got > 0 ? (size_t) got : 0;
    } while (got > 0);
    resource_answer(call, RESOURCE_NOTEBOOK_TYPE, "text",
                    json_stringn((const char *) bytes.data, bytes.size));
}

void resource_notebook_read(mcp_call_t *call, const json_t *session)
{
    export_worker_read(call->exchange, session, on_notebook);
}
