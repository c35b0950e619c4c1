/* PUT: writes a file of a workspace, whole or in chunks, or makes a folder. The
 * content goes to the files thread piece by piece. The file changes only when
 * the whole content was valid. */
#include "gateway/http/contents/contents_save.h"

#include "base/clock.h"
#include "gateway/http/contents/contents_change.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/model_decoder.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/chunked_uploads.h"
#include "gateway/http/rpc/files_client.h"

#include <string.h>

#define LAST_CHUNK -1

typedef struct {
    exchange_t *exchange;    /* borrowed */
    upload_t *upload;        /* owned */
    model_decoder_t content; /* in the exchange's body */
    int64_t chunk;           /* 0: the whole file at once */
    bool exists;             /* it existed before */
    bool is_drained;         /* the content has been written */
    bool is_committed;       /* and has its final name */
} save_t;

static void save_destroy(void **self_p)
{
    save_t *self = *self_p;

    if (!self)
        return;
    upload_destroy(&self->upload);
    free(self);
    *self_p = NULL;
}

static void give_up(save_t *self)
{
    exchange_keep(self->exchange, NULL, NULL);
}

/* --- Its steps --- */

static void answer_chunk(save_t *self)
{
    exchange_t *exchange = self->exchange;
    char now[CLOCK_ISO_SIZE];

    clock_iso(clock_wall_us(), now);
    json_t *model =
        contents_model(contents_path(exchange), "file", now, now, true);
    json_object_set_new(model, "size",
                        json_integer((json_int_t) upload_size(self->upload)));
    if (chunked_upload_keep(exchange, contents_path(exchange), &self->upload,
                            self->chunk)) {
        exchange_json(exchange, self->chunk == 1 && !self->exists ? 201 : 200,
                      model);
    } else {
        json_decref(model);
        exchange_fail(exchange, 503,
                      "Too many files are being uploaded; try again later");
    }
    give_up(self);
}

static void finish(save_t *self)
{
    contents_path_t place = contents_path_of(contents_path(self->exchange));

    contents_finish(self->exchange, place.id, place.path,
                    self->exists || self->chunk ? 200 : 201);
}

static void write_next(save_t *self)
{
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    fault_t fault;
    int r = model_decoder_next(&self->content, &piece, &fault);

    if (r < 0) {
        exchange_fail(self->exchange, 400, "Invalid content: %s", fault.text);
        give_up(self);
        return;
    }
    self->is_drained = r == 0;
    if (piece.size) {
        upload_write(self->upload, &piece);
    } else if (self->chunk > 0) {
        answer_chunk(self);
    } else {
        self->is_committed = true;
        upload_commit(self->upload);
    }
}

static void on_step(void *owner, const json_t *reply)
{
    save_t *self = owner;

    if (!contents_is_ok(self->exchange, reply)) {
        give_up(self);
    } else if (self->is_committed) {
        finish(self);
    } else if (!self->is_drained) {
        write_next(self);
    } else if (self->chunk > 0) {
        answer_chunk(self);
    } else {
        self->is_committed = true;
        upload_commit(self->upload);
    }
}

static void on_stat(exchange_t *exchange, const json_t *reply)
{
    save_t *self = exchange->task;
    contents_path_t place = contents_path_of(contents_path(exchange));
    const char *type = model_text(json_object_get(reply, "entry"), "type");

    self->exists = *type;
    if (strcmp(type, "folder") == 0) {
        contents_refuse(exchange, 400, "bad type", "%.200s is a directory",
                        contents_path(exchange));
        return;
    }
    if (!*type && strcmp(model_text(reply, "ename"), "FileNotFound") != 0) {
        contents_is_ok(exchange, reply);
        return;
    }
    self->upload =
        upload_new(exchange, place.id, place.path, true, self, on_step);
}

/* --- Chunks --- */

/* Writes the next chunk after the earlier ones. */
static void go_on(save_t *self)
{
    exchange_t *exchange = self->exchange;
    int64_t before = 0;

    self->upload =
        chunked_upload_take(exchange, contents_path(exchange), &before);
    if (!self->upload) {
        exchange_fail(exchange, 409,
                      "No upload of this file is under way: it begins with "
                      "chunk 1, and waits five minutes for the next one");
        return;
    }
    if (self->chunk != LAST_CHUNK && self->chunk != before + 1) {
        exchange_fail(exchange, 409,
                      "Chunk %lld arrived, but %lld is the next one; begin "
                      "again with chunk 1",
                      (long long) self->chunk, (long long) before + 1);
        give_up(self);
        return;
    }
    upload_give(self->upload, self, on_step);
    write_next(self);
}

static void begin(save_t *self)
{
    exchange_t *exchange = self->exchange;
    contents_path_t place = contents_path_of(contents_path(exchange));
    int64_t chunk;
    upload_t *older =
        self->chunk
            ? chunked_upload_take(exchange, contents_path(exchange), &chunk)
            : NULL;

    upload_destroy(&older);
    files_client_ask(exchange, "files_stat_request",
                     json_pack("{s:s,s:s}", "id", place.id, "path", place.path),
                     on_stat);
}

/* --- Folders --- */

static void on_folder(exchange_t *exchange, const json_t *reply)
{
    contents_path_t place = contents_path_of(contents_path(exchange));
    bool exists = strcmp(model_text(reply, "ename"), "FileExists") == 0;

    if (exists || contents_is_ok(exchange, reply))
        contents_finish(exchange, place.id, place.path, exists ? 200 : 201);
}

/* --- The body --- */

/* Reads the format of the content; false if it is invalid, and the request was
 * then answered. */
static bool read_kind(save_t *self, jspan_t model, const char *type)
{
    exchange_t *exchange = self->exchange;
    cleanup_free char *format = jspan_plain_new(jspan_member(model, "format"));
    model_decoder_t *content = &self->content;
    bool is_string;

    content->span = jspan_member(model, "content");
    is_string = jspan_is(content->span, JSPAN_STRING);
    if (jspan_is_none(content->span)) {
        exchange_fail(exchange, 400, "No file content provided");
    } else if (strcmp(type, "notebook") == 0) {
        content->kind = MODEL_DECODER_NOTEBOOK;
        if (jspan_is(content->span, JSPAN_OBJECT))
            return true;
        exchange_fail(exchange, 400, "A notebook's content is an object");
    } else if (!format
               || (strcmp(format, "text") != 0
                   && strcmp(format, "base64") != 0)) {
        exchange_fail(exchange, 400,
                      "Must specify format of file contents as 'text' or "
                      "'base64'");
    } else if (!is_string) {
        exchange_fail(exchange, 400, "A file's content is a text");
    } else {
        content->kind =
            *format == 't' ? MODEL_DECODER_TEXT : MODEL_DECODER_BASE64;
        return true;
    }
    return false;
}

static bool read_chunk(save_t *self, jspan_t model, const char *type)
{
    jspan_t chunk = jspan_member(model, "chunk");

    if (jspan_is_none(chunk))
        return true;
    if (strcmp(type, "file") != 0) {
        exchange_fail(self->exchange, 400,
                      "File type \"%s\" is not supported for large file "
                      "transfer",
                      type);
        return false;
    }
    if (jspan_to_integer(chunk, &self->chunk)
        && (self->chunk > 0 || self->chunk == LAST_CHUNK))
        return true;
    exchange_fail(self->exchange, 400,
                  "chunk is 1, 2, … and -1 for the last one");
    return false;
}

/* Returns the model's type; NULL if it is invalid, and the request was then
 * answered. */
static char *read_type(exchange_t *exchange, jspan_t model)
{
    jspan_t given = jspan_member(model, "type");
    cleanup_free char *type = jspan_plain_new(given);

    if (!jspan_is(jspan_member(model, "copy_from"), JSPAN_ABSENT))
        exchange_fail(exchange, 400, "Cannot copy with PUT, only POST");
    else if (!jspan_is(given, JSPAN_STRING))
        exchange_fail(exchange, 400, "No file type provided");
    else if (!type)
        exchange_fail(exchange, 400,
                      "type must be file, notebook or directory, without NUL "
                      "(\\u0000)");
    else if (strcmp(type, "file") != 0 && strcmp(type, "notebook") != 0
             && strcmp(type, "directory") != 0)
        exchange_fail(exchange, 400, "Unhandled contents type: %.40s", type);
    else
        return take_ptr(type);
    return NULL;
}

static bool read_model(exchange_t *exchange, jspan_t *ret_model)
{
    fault_t fault;

    if (jspan_check(exchange->request.body.data, exchange->request.body.size,
                    ret_model, &fault)
            == 0
        && jspan_is(*ret_model, JSPAN_OBJECT))
        return true;
    exchange_fail(exchange, 400, "Invalid JSON in body of request: %s",
                  jspan_is(*ret_model, JSPAN_ABSENT) ? fault.text
                                                     : "no object");
    return false;
}

static void save_model(save_t *self, const contents_path_t *place)
{
    exchange_t *exchange = self->exchange;
    jspan_t model = {0};

    if (!read_model(exchange, &model))
        return;
    cleanup_free char *type = read_type(exchange, model);
    if (!type)
        return;
    if (strcmp(type, "directory") == 0) {
        files_client_ask(
            exchange, "files_make_folder_request",
            json_pack("{s:s,s:s}", "id", place->id, "path", place->path),
            on_folder);
        return;
    }
    if (!read_kind(self, model, type) || !read_chunk(self, model, type))
        return;
    if (self->chunk == 0 || self->chunk == 1)
        begin(self);
    else
        go_on(self);
}

void workspaces_save(exchange_t *exchange, const contents_path_t *place)
{
    save_t *self = mem_new(sizeof *self);

    self->exchange = exchange;
    exchange_keep(exchange, self, save_destroy);
    if (exchange->request.received)
        save_model(self, place);
    else
        begin(self); /* an empty file */
}
