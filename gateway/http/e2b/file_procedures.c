/* The procedures of E2B's service of files, as JSON of the Connect protocol:
 * one request, one answer. The files' thread does the work; it follows no link
 * out of the workspace. */
#include "gateway/http/e2b/file_procedures.h"

#include "gateway/http/contents/contents_model.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/e2b_door.h"
#include "gateway/http/e2b/file_entry.h"
#include "gateway/http/e2b/sandbox_path.h"
#include "gateway/http/e2b/sandbox_target.h"
#include "gateway/http/rpc/files_client.h"
#include "notebooks/json/tree.h"

#include <string.h>

#define ENTRIES_MAX 20000 /* of one answer */

/* A call whose answer waits for the files' thread. */
typedef struct {
    exchange_t *exchange; /* borrowed: its owner */
    char *path;           /* owned; text of the files' thread */
    char *to;             /* owned; the target of a move, or NULL */
    json_int_t depth;     /* of a list */
    json_t *entries;      /* owned; of a list */
} file_call_t;

static void destroy(void **self_p)
{
    file_call_t *self = *self_p;

    files_client_forget(self->exchange->http, self);
    json_decref(self->entries);
    free(self->path);
    free(self->to);
    free(self);
    *self_p = NULL;
}

/* --- The request --- */

/* Returns the path of that member, to be freed; NULL if it was refused. Clients
 * leave an empty one out. */
static char *read_path(exchange_t *exchange, const json_t *body,
                       const char *name)
{
    const json_t *value = json_object_get(body, name);
    const char *text = value ? json_string_value(value) : "";
    char *path = text ? sandbox_path_read(text) : NULL;

    if (!text)
        exchange_fail(exchange, 400, "%s must be a path, a text", name);
    else if (!path)
        exchange_fail(exchange, 400,
                      "The path %.200s is not in the workspace; paths begin "
                      "with " SANDBOX_PATH_HOME ", /home/user or a name",
                      text);
    return path;
}

/* Reads a call with these paths; `to` may be NULL. NULL: it was refused. The
 * sandbox is the first parameter then. */
static file_call_t *begin(exchange_t *exchange, const char *from,
                          const char *to)
{
    json_auto_t *body = NULL;
    cleanup_free char *first = NULL, *second = NULL;
    file_call_t *self;

    if (!e2b_door_is_json(exchange) || !exchange_read_object(exchange, &body)
        || !(first = read_path(exchange, body, from))
        || (to && !(second = read_path(exchange, body, to)))
        || !sandbox_target(exchange))
        return NULL;
    self = mem_new(sizeof *self);
    self->exchange = exchange;
    self->path = take_ptr(first);
    self->to = take_ptr(second);
    self->depth = json_integer_value(json_object_get(body, "depth"));
    exchange_keep(exchange, self, destroy);
    return self;
}

/* Returns {"id","path"}, which the caller owns. */
static json_t *order(const file_call_t *self, const char *path)
{
    return json_pack("{s:s,s:s}", "id", self->exchange->request.parameters[0],
                     "path", path);
}

/* --- One entry --- */

static void on_entry(exchange_t *exchange, const json_t *reply)
{
    if (contents_is_ok(exchange, reply))
        exchange_json(exchange, 200,
                      json_pack("{s:o}", "entry",
                                file_entry(json_object_get(reply, "entry"))));
}

static void stat_path(const file_call_t *self, const char *path)
{
    files_client_ask(self->exchange, "files_stat_request", order(self, path),
                     on_entry);
}

void file_stat(exchange_t *exchange)
{
    const file_call_t *self = begin(exchange, "path", NULL);

    if (self)
        stat_path(self, self->path);
}

static void on_made(exchange_t *exchange, const json_t *reply)
{
    const file_call_t *self = exchange->task;

    if (contents_is_ok(exchange, reply))
        stat_path(self, self->path);
}

static void make_folder(const file_call_t *self, char *path,
                        registry_client_reply_fn *fn)
{
    json_t *content = order(self, path);

    json_object_set_new(content, "parents", json_true());
    files_client_ask(self->exchange, "files_make_folder_request", content, fn);
}

/* Refuses a path that exists: that is an error to E2B's clients, also for a
 * folder. */
static void on_looked(exchange_t *exchange, const json_t *reply)
{
    const file_call_t *self = exchange->task;

    if (strcmp(model_text(reply, "ename"), "FileNotFound") == 0)
        make_folder(self, self->path, on_made);
    else if (contents_is_ok(exchange, reply))
        exchange_fail(exchange, 409, "%.200s exists already", self->path);
}

void file_make_folder(exchange_t *exchange)
{
    const file_call_t *self = begin(exchange, "path", NULL);

    if (self)
        files_client_ask(exchange, "files_stat_request",
                         order(self, self->path), on_looked);
}

static void on_moved(exchange_t *exchange, const json_t *reply)
{
    const file_call_t *self = exchange->task;

    if (contents_is_ok(exchange, reply))
        stat_path(self, self->to);
}

static void rename_path(exchange_t *exchange, const json_t *reply)
{
    const file_call_t *self = exchange->task;
    json_t *content =
        json_pack("{s:s,s:s,s:s,s:b}", "id", exchange->request.parameters[0],
                  "from", self->path, "to", self->to, "replace", 1);

    (void) reply; /* a folder that exists already is as good */
    files_client_ask(exchange, "files_rename_request", content, on_moved);
}

void file_move(exchange_t *exchange)
{
    const file_call_t *self = begin(exchange, "source", "destination");
    const char *slash = self ? strrchr(self->to, '/') : NULL;

    if (!self)
        return;
    if (!slash) {
        rename_path(exchange, NULL);
        return;
    }
    cleanup_free char *folder = mem_copy(self->to, (size_t) (slash - self->to));
    make_folder(self, folder, rename_path);
}

/* Answers as if a missing entry was removed. */
static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "ename"), "FileNotFound") == 0
        || contents_is_ok(exchange, reply))
        exchange_json(exchange, 200, json_object());
}

void file_remove(exchange_t *exchange)
{
    const file_call_t *self = begin(exchange, "path", NULL);
    json_t *content;

    if (!self)
        return;
    content = order(self, self->path);
    json_object_set_new(content, "recursive", json_true());
    files_client_ask(exchange, "files_delete_request", content, on_removed);
}

/* --- Lists --- */

/* Returns true if the entry is at most `depth` levels below the folder. */
static bool is_within(const file_call_t *self, const char *path)
{
    size_t size = strlen(self->path);
    json_int_t levels = 1;

    for (const char *at = path + (size ? size + 1 : 0);
         strlen(path) > size && (at = strchr(at, '/')); at++)
        levels++;
    return levels <= self->depth;
}

static void answer_list(const file_call_t *self)
{
    json_auto_t *sorted = json_tree_sorted(self->entries, "path", false);

    exchange_json(self->exchange, 200, json_pack("{s:O}", "entries", sorted));
}

static void on_page(void *owner, const json_t *reply, bytes_t data)
{
    file_call_t *self = owner;
    http_t *http = self->exchange->http;
    const json_t *entry;
    size_t i;

    (void) data;
    if (!contents_is_ok(self->exchange, reply))
        return;
    json_array_foreach(json_object_get(reply, "entries"), i, entry)
    {
        if (is_within(self, model_text(entry, "path")))
            json_array_append_new(self->entries, file_entry(entry));
    }
    if (json_array_size(self->entries) > ENTRIES_MAX) {
        files_client_close_left(http, reply);
        exchange_fail(self->exchange, 400,
                      "The folder has more than %d entries: list a folder in "
                      "it",
                      ENTRIES_MAX);
    } else if (json_is_true(json_object_get(reply, "done"))) {
        answer_list(self);
    } else {
        files_client_ask_for(
            http, self, "files_next_request",
            json_pack("{s:s,s:I}", "transfer", model_text(reply, "transfer"),
                      "page",
                      json_integer_value(json_object_get(reply, "page")) + 1),
            NULL, on_page);
    }
}

void file_list(exchange_t *exchange)
{
    file_call_t *self = begin(exchange, "path", NULL);
    json_t *content;

    if (!self)
        return;
    if (self->depth < 1)
        self->depth = 1;
    self->entries = json_array();
    content = order(self, self->path);
    json_object_set_new(content, "recursive", json_boolean(self->depth > 1));
    files_client_begin(exchange, self, "files_list_request", content, on_page);
}
