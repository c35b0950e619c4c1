/* Folders of workspaces: the live sessions, and the entries of a folder, sent
 * page by page. Hidden files, links and special files are left out. */
#include "gateway/http/contents/contents_list.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/registry_client.h"
#include "protocol/jspan_write.h"

#include <string.h>

/* --- All workspaces --- */

static json_t *workspace_model(const json_t *session)
{
    const char *active = model_text(session, "last_activity");
    const char *created = model_text(session, "created");
    cleanup_free char *path =
        mem_format(CONTENTS_WORKSPACES "/%s", model_text(session, "id"));

    return contents_model(path, "directory", created,
                          *active ? active : created, true);
}

static json_t *folder_model(const exchange_t *exchange)
{
    char started[CLOCK_ISO_SIZE];

    clock_iso(exchange->http->clocks.started_us, started);
    return contents_model(CONTENTS_WORKSPACES, "directory", started, started,
                          false);
}

static void on_sessions(exchange_t *exchange, const json_t *reply)
{
    json_t *folder, *entries, *session;
    size_t i;

    if (!registry_client_is_ok(exchange, reply))
        return;
    folder = folder_model(exchange);
    entries = json_array();
    json_array_foreach(json_object_get(reply, "sessions"), i,
                       session) if (!model_is_gone(session))
        json_array_append_new(entries, workspace_model(session));
    contents_set_entries(folder, entries);
    exchange_json(exchange, 200, folder);
}

void workspaces_show_folder(exchange_t *exchange, const contents_wish_t *wish)
{
    if (wish->content)
        registry_client_ask(exchange, "session_list_request", json_object(),
                            on_sessions);
    else
        exchange_json(exchange, 200, folder_model(exchange));
}

/* --- A folder --- */

typedef struct {
    exchange_t *exchange;     /* borrowed */
    char id[FRONTEND_ID_MAX]; /* the session's */
    json_t *model;            /* owned; the folder's */
    json_t *page;             /* owned; NULL: it was requested */
    bool is_begun, has_entries;
} folder_listing_t;

static void listing_destroy(void **self_p)
{
    folder_listing_t *self = *self_p;

    if (!self)
        return;
    files_client_forget(self->exchange->http, self);
    if (self->page)
        files_client_close_left(self->exchange->http, self->page);
    json_decref(self->page);
    json_decref(self->model);
    free(self);
    *self_p = NULL;
}

static bool is_shown(const json_t *entry)
{
    const char *type = model_text(entry, "type");

    return path_name(model_text(entry, "path"))[0] != '.'
           && (strcmp(type, "file") == 0 || strcmp(type, "folder") == 0);
}

static void write_page(folder_listing_t *self, buffer_t *out)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(json_object_get(self->page, "entries"), i, entry)
    {
        if (!is_shown(entry))
            continue;
        json_auto_t *model = contents_entry_model(self->id, entry);
        cleanup_free char *text = json_dumps(model, JSON_COMPACT);
        buffer_text(out, self->has_entries ? "," : "");
        buffer_text(out, text);
        self->has_entries = true;
    }
}

static void on_page(void *owner, const json_t *reply, bytes_t data)
{
    folder_listing_t *self = owner;

    (void) data;
    self->page = json_deep_copy(reply);
    exchange_wake(self->exchange);
}

static void ask_next(folder_listing_t *self)
{
    json_int_t page = json_integer_value(json_object_get(self->page, "page"));

    files_client_ask_for(self->exchange->http, self, "files_next_request",
                         json_pack("{s:s,s:I}", "transfer",
                                   model_text(self->page, "transfer"), "page",
                                   page + 1),
                         NULL, on_page);
    json_decref(self->page);
    self->page = NULL;
}

static void write_end(const folder_listing_t *self, buffer_t *out)
{
    const char *cut = model_text(self->page, "cut");

    jspan_write_end_array(out);
    if (*cut) {
        cleanup_free char *message =
            mem_format("the list is not complete: cut by %s", cut);

        jspan_write_text(out, "message", message);
    }
    jspan_write_end(out);
}

static int more(void *state, buffer_t *out)
{
    folder_listing_t *self = state;

    if (!self->page)
        return 1;
    if (strcmp(model_text(self->page, "status"), "ok") != 0)
        return -1;
    if (!self->is_begun) {
        model_begin_content(self->model, out);
        buffer_text(out, "[");
        self->is_begun = true;
    }
    write_page(self, out);
    if (json_is_true(json_object_get(self->page, "done"))) {
        write_end(self, out);
        return 0;
    }
    ask_next(self);
    return 1;
}

static void on_first_page(void *owner, const json_t *reply, bytes_t data)
{
    folder_listing_t *self = owner;
    exchange_t *exchange = self->exchange;

    if (!contents_is_ok(exchange, reply))
        return;
    exchange_stream(exchange, 200, "application/json",
                    &(exchange_source_t){.next = more,
                                         .state = exchange_take(exchange),
                                         .end = listing_destroy});
    on_page(owner, reply, data);
}

void workspaces_list(exchange_t *exchange, const contents_path_t *place,
                     const json_t *entry)
{
    folder_listing_t *self = mem_new(sizeof *self);

    self->exchange = exchange;
    snprintf(self->id, sizeof self->id, "%s", place->id);
    self->model = contents_entry_model(place->id, entry);
    json_object_set_new(self->model, "format", json_string("json"));
    exchange_keep(exchange, self, listing_destroy);
    files_client_begin(
        exchange, self, "files_list_request",
        json_pack("{s:s,s:s}", "id", place->id, "path", place->path),
        on_first_page);
}
