/* New files of a workspace: empty ones, folders, and copies. Each gets a name
 * that is free: names are tried until one is. */
#include "gateway/http/contents/contents_new.h"

#include "base/fd.h"
#include "gateway/http/contents/contents_change.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/new_name.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/download.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/upload.h"

#include <string.h>

#define TRIES_MAX 1000

typedef enum {
    NEW_FILE,
    NEW_NOTEBOOK,
    NEW_FOLDER,
    NEW_COPY
} new_kind_t;

typedef struct {
    exchange_t *exchange;        /* borrowed */
    char id[FRONTEND_ID_MAX];    /* the session's */
    new_name_t name;             /* owned */
    char *from;                  /* owned; the file to copy */
    char other[FRONTEND_ID_MAX]; /* the session that owns this file; "": the
                                    same one */
    download_t *download;        /* owned; of such a file */
    bool is_pushing;             /* one of its pieces is being written */
    new_kind_t kind;
    char *path;       /* owned; the name that is tried */
    upload_t *upload; /* owned */
    unsigned steps;
} made_t;

static void made_destroy(void **self_p)
{
    made_t *self = *self_p;

    if (!self)
        return;
    download_destroy(&self->download);
    upload_destroy(&self->upload);
    new_name_clear(&self->name);
    free(self->from);
    free(self->path);
    free(self);
    *self_p = NULL;
}

static void try_next(made_t *self);

/* Returns true if the file was made. Returns false if another name is tried, or
 * the request was answered. */
static bool is_made(made_t *self, const json_t *reply)
{
    if (strcmp(model_text(reply, "ename"), "FileExists") != 0)
        return contents_is_ok(self->exchange, reply);
    upload_destroy(&self->upload);
    if (self->name.tries < TRIES_MAX)
        try_next(self);
    else
        exchange_fail(self->exchange, 409,
                      "There are %d files of that name already", TRIES_MAX);
    return false;
}

static void finish(made_t *self)
{
    cleanup_free char *path = take_ptr(self->path);
    char id[FRONTEND_ID_MAX];

    memcpy(id, self->id, sizeof id);
    contents_finish(self->exchange, id, path, 201);
}

static void on_made(exchange_t *exchange, const json_t *reply)
{
    made_t *self = exchange->task;

    if (is_made(self, reply))
        finish(self);
}

static void write_empty_notebook(buffer_t *out)
{
    json_auto_t *notebook =
        json_pack("{s:[],s:{},s:i,s:i}", "cells", "metadata", "nbformat", 4,
                  "nbformat_minor", 5);
    cleanup_free char *text = json_dumps(notebook, JSON_INDENT(1));

    buffer_format(out, "%s\n", text);
}

/* Writes a file with its initial content: opens, writes, commits. */
static void on_upload(void *owner, const json_t *reply)
{
    made_t *self = owner;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    if (!is_made(self, reply))
        return;
    if (self->kind == NEW_FILE && self->steps == 0)
        self->steps++;
    switch (self->steps++) {
    case 0:
        write_empty_notebook(&text);
        upload_write(self->upload, &text);
        break;
    case 1:
        upload_commit(self->upload);
        break;
    default:
        finish(self);
        break;
    }
}

/* --- Copies of another session's file: read and written piece by piece --- */

/* Writes the next piece if it was read and no other one is being written. */
static void go_on(made_t *self)
{
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    int r;

    if (self->is_pushing || !self->upload)
        return;
    r = download_next(self->download, &piece);
    if (r < 0) {
        contents_is_ok(self->exchange, download_answer(self->download));
        return;
    }
    self->is_pushing = piece.size || r == 0;
    if (piece.size) {
        upload_write(self->upload, &piece);
    } else if (r == 0) {
        self->steps = 1;
        upload_commit(self->upload);
    }
}

static void on_more(void *owner)
{
    go_on(owner);
}

static void on_pushed(void *owner, const json_t *reply)
{
    made_t *self = owner;

    if (!is_made(self, reply))
        return;
    self->is_pushing = false;
    if (self->steps)
        finish(self);
    else
        go_on(self);
}

static void on_opened(void *owner)
{
    made_t *self = owner;

    if (!contents_is_ok(self->exchange, download_answer(self->download)))
        return;
    download_give(self->download, self, on_more);
    try_next(self);
}

/* Copies from the beginning, also after a name was taken. */
static void push_other(made_t *self)
{
    download_seek(self->download, 0, download_size(self->download));
    self->is_pushing = true;
    self->upload = upload_new(self->exchange, self->id, self->path, false, self,
                              on_pushed);
}

static void try_next(made_t *self)
{
    free(self->path);
    self->path = new_name_next(&self->name);
    self->steps = 0;
    if (self->kind == NEW_FOLDER)
        files_client_ask(
            self->exchange, "files_make_folder_request",
            json_pack("{s:s,s:s}", "id", self->id, "path", self->path),
            on_made);
    else if (self->download)
        push_other(self);
    else if (self->kind == NEW_COPY)
        files_client_ask(self->exchange, "files_copy_request",
                         json_pack("{s:s,s:s,s:s,s:b}", "id", self->id, "from",
                                   self->from, "to", self->path, "replace", 0),
                         on_made);
    else
        self->upload = upload_new(self->exchange, self->id, self->path, false,
                                  self, on_upload);
}

static void begin(made_t *self)
{
    if (*self->other)
        self->download = download_new(self->exchange, self->other, self->from,
                                      self, on_opened);
    else
        try_next(self);
}

static void on_folder(exchange_t *exchange, const json_t *reply)
{
    const json_t *entry = json_object_get(reply, "entry");

    if (!contents_is_ok(exchange, reply))
        return;
    if (strcmp(model_text(entry, "type"), "folder") == 0)
        begin(exchange->task);
    else
        exchange_fail(exchange, 400, "Cannot POST to files, use PUT instead");
}

static bool read_copy(made_t *self, const char *folder, const char *from)
{
    contents_path_t place = contents_path_of(from);

    self->kind = NEW_COPY;
    if (place.what != CONTENTS_PATH_FILE || !*place.path
        || contents_path_is_hidden(place.path)) {
        exchange_fail(self->exchange, 400,
                      "copy_from names a file of a workspace; recordings are "
                      "downloaded and saved");
        return false;
    }
    if (strcmp(place.id, self->id) != 0)
        snprintf(self->other, sizeof self->other, "%s", place.id);
    self->from = mem_text(place.path);
    new_name_set_copy(&self->name, folder, path_name(place.path));
    return true;
}

static bool read_new(made_t *self, const char *folder, const json_t *body)
{
    const char *type = model_text(body, "type");
    const char *end = model_text(body, "ext");

    if (strchr(end, '/') || strlen(end) > 100) {
        exchange_fail(self->exchange, 400, "ext is the end of a file's name");
        return false;
    }
    if (strcmp(type, "directory") == 0) {
        self->kind = NEW_FOLDER;
        new_name_set_folder(&self->name, folder);
    } else if (strcmp(type, "notebook") == 0
               || (!*type && strcmp(end, CONTENTS_SUFFIX) == 0)) {
        self->kind = NEW_NOTEBOOK;
        new_name_set_notebook(&self->name, folder);
    } else if (!*type || strcmp(type, "file") == 0) {
        new_name_set_file(&self->name, folder, end);
    } else {
        exchange_fail(self->exchange, 400, "Unhandled contents type: %.40s",
                      type);
        return false;
    }
    return true;
}

void workspaces_create(exchange_t *exchange, const contents_path_t *place)
{
    made_t *self = mem_new(sizeof *self);
    json_auto_t *body = NULL;

    exchange_keep(exchange, self, made_destroy);
    self->exchange = exchange;
    snprintf(self->id, sizeof self->id, "%s", place->id);
    if (!exchange_read_object(exchange, &body))
        return;
    const char *from = model_text(body, "copy_from");
    from += strspn(from, "/");
    if (*from ? !read_copy(self, place->path, from)
              : !read_new(self, place->path, body))
        return;
    files_client_ask(
        exchange, "files_stat_request",
        json_pack("{s:s,s:s}", "id", self->id, "path", place->path), on_folder);
}
