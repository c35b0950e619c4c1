/* GET and POST /files of E2B's daemon: the bytes of a file, and files that are
 * written, as they are or in a form. Files of one request are written one after
 * the other; each appears whole or not at all. */
#include "gateway/http/e2b/file_bytes.h"

#include "gateway/http/api/file_response.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/e2b/file_entry.h"
#include "gateway/http/e2b/multipart.h"
#include "gateway/http/e2b/sandbox_path.h"
#include "gateway/http/e2b/sandbox_target.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/upload.h"

#include <string.h>

#define PIECE (256u << 10)

/* Files that are written. */
typedef struct {
    exchange_t *exchange; /* borrowed: its owner, and of the bytes */
    multipart_t files;    /* owned; the names are paths of the files' thread */
    size_t at;            /* the file that is written */
    size_t sent;          /* bytes of it */
    bool is_committed;    /* its name was given, or was requested */
    upload_t *upload;     /* owned; of it */
    json_t *written;      /* owned; the answer */
} file_writing_t;

static void destroy(void **self_p)
{
    file_writing_t *self = *self_p;

    upload_destroy(&self->upload);
    multipart_clear(&self->files);
    json_decref(self->written);
    free(self);
    *self_p = NULL;
}

/* Returns the path as the files' thread takes it, to be freed; NULL if it was
 * refused. */
static char *read_path(exchange_t *exchange, const char *path)
{
    char *text = sandbox_path_read(path);

    if (text && *text)
        return text;
    free(text);
    exchange_fail(exchange, 400,
                  "The path %.200s is not a file in the workspace; paths begin "
                  "with " SANDBOX_PATH_HOME ", /home/user or a name",
                  path);
    return NULL;
}

/* --- Reading --- */

/* Returns true if the request has a signature, which only E2B's own links
 * have. */
static bool refuse_link(exchange_t *exchange)
{
    if (!exchange_argument(exchange, "signature"))
        return false;
    exchange_fail(exchange, 501,
                  "Links with a signature are not read here: send the token "
                  "in a header");
    return true;
}

void file_read_bytes(exchange_t *exchange)
{
    const char *path = exchange_argument(exchange, "path");
    cleanup_free char *text = NULL;

    if (refuse_link(exchange)
        || !(text = read_path(exchange, path ? path : "")))
        return;
    const char *session = sandbox_target(exchange);
    if (session)
        file_response_begin(exchange, session, text);
}

/* --- Writing --- */

static void write_next(file_writing_t *self);

static void on_step(void *owner, const json_t *reply)
{
    file_writing_t *self = owner;
    const multipart_file_t *file = &self->files.files[self->at];
    size_t left = file->bytes.size - self->sent;
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;

    if (!contents_is_ok(self->exchange, reply))
        return;
    if (self->is_committed) {
        json_array_append_new(self->written, file_entry_written(file->name));
        self->at++;
        write_next(self);
        return;
    }
    if (!left) {
        self->is_committed = true;
        upload_commit(self->upload);
        return;
    }
    if (left > PIECE)
        left = PIECE;
    buffer_append(&piece, (const uint8_t *) file->bytes.bytes + self->sent,
                  left);
    self->sent += left;
    upload_write(self->upload, &piece);
}

static void begin_upload(exchange_t *exchange, const json_t *reply)
{
    file_writing_t *self = exchange->task;

    (void) reply; /* a folder that exists already is as good */
    self->upload =
        upload_new(exchange, exchange->request.parameters[0],
                   self->files.files[self->at].name, true, self, on_step);
}

/* Writes the next file, or answers after the last one. */
static void write_next(file_writing_t *self)
{
    exchange_t *exchange = self->exchange;
    const char *path, *slash;

    if (self->at == self->files.count) {
        exchange_json(exchange, 200, json_incref(self->written));
        return;
    }
    upload_destroy(&self->upload);
    self->sent = 0;
    self->is_committed = false;
    path = self->files.files[self->at].name;
    slash = strrchr(path, '/');
    if (!slash) {
        begin_upload(exchange, NULL);
        return;
    }
    files_client_ask(exchange, "files_make_folder_request",
                     json_pack("{s:s,s:s%,s:b}", "id",
                               exchange->request.parameters[0], "path", path,
                               (size_t) (slash - path), "parents", 1),
                     begin_upload);
}

/* Puts paths in the place of names. One file has the query's path, several
 * have their own. */
static bool read_names(file_writing_t *self)
{
    const char *path = exchange_argument(self->exchange, "path");

    if (path && self->files.count > 1) {
        exchange_fail(self->exchange, 400,
                      "Several files have their paths as filenames, not in "
                      "the query");
        return false;
    }
    for (size_t i = 0; i < self->files.count; i++) {
        multipart_file_t *file = &self->files.files[i];
        char *text = read_path(self->exchange, path ? path : file->name);
        if (!text)
            return false;
        free(file->name);
        file->name = text;
    }
    return true;
}

static bool is_type(const exchange_t *exchange, const char *type)
{
    const char *sent = exchange->request.headers[HEADER_CONTENT_TYPE];

    return sent && strncasecmp(sent, type, strlen(type)) == 0;
}

static bool read_files(file_writing_t *self)
{
    exchange_t *exchange = self->exchange;
    const char *type = exchange->request.headers[HEADER_CONTENT_TYPE];
    bytes_t body = buffer_bytes(&exchange->request.body);

    if (exchange->request.headers[HEADER_CONTENT_ENCODING]) {
        exchange_fail(exchange, 415,
                      "A body that is compressed is not read here");
        return false;
    }
    if (is_type(exchange, "application/octet-stream")) {
        self->files.count = 1;
        self->files.files[0] =
            (multipart_file_t){.name = mem_text(""), .bytes = body};
        return true;
    }
    if (!is_type(exchange, "multipart/form-data")) {
        exchange_fail(exchange, 415,
                      "The Content-Type must be multipart/form-data or "
                      "application/octet-stream");
        return false;
    }
    if (multipart_read(type, body, &self->files))
        return true;
    exchange_fail(exchange, 400,
                  "The body is not a complete form, or has more than %d files",
                  MULTIPART_FILES_MAX);
    return false;
}

void file_write_bytes(exchange_t *exchange)
{
    file_writing_t *self;

    if (refuse_link(exchange))
        return;
    self = mem_new(sizeof *self);
    self->exchange = exchange;
    self->written = json_array();
    exchange_keep(exchange, self, destroy);
    if (read_files(self) && read_names(self) && sandbox_target(exchange))
        write_next(self);
}
