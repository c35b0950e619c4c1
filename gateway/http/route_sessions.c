/* /api/sessions: a document's path and the kernel that runs for it, as
 * front ends think of them; remembered in notes.c. */
#include "gateway/http/models.h"
#include "gateway/http/notes.h"
#include "gateway/http/routes.h"
#include "gateway/http/watch.h"

#include <sodium.h>

#include <string.h>

/* The note of the first parameter; NULL: answered. */
static json_t *find(exchange_t *exchange)
{
    json_t *note =
        json_object_get(exchange->http->sessions, exchange->parameters[0]);

    if (!note)
        exchange_fail(exchange, 404, "Session not found: session_id=%.100s",
                      exchange->parameters[0]);
    return note;
}

/* `kernel` is taken. */
static json_t *model(const json_t *note, json_t *kernel)
{
    json_t *whole =
        json_pack("{s:s,s:s,s:s,s:s,s:o}", "id", model_text(note, "id"), "path",
                  model_text(note, "path"), "name", model_text(note, "name"),
                  "type", model_text(note, "type"), "kernel", kernel);

    if (strcmp(model_text(note, "type"), "notebook") == 0)
        json_object_set_new(whole, "notebook",
                            json_pack("{s:s,s:s}", "path",
                                      model_text(note, "path"), "name",
                                      model_text(note, "name")));
    return whole;
}

static const json_t *find_kernel(const json_t *reply, const char *id)
{
    const json_t *sessions = json_object_get(reply, "sessions"), *session;
    size_t i;

    json_array_foreach(sessions, i,
                       session) if (strcmp(model_text(session, "id"), id) == 0
                                    && !model_is_gone(session)) return session;
    return NULL;
}

/* Notes whose kernel has gone are forgotten, as Jupyter Server does. */
static void on_list(exchange_t *exchange, const json_t *reply)
{
    json_t *models, *note;
    const char *id;
    void *next;

    if (!desk_is_ok(exchange, reply))
        return;
    models = json_array();
    json_object_foreach_safe(exchange->http->sessions, next, id, note)
    {
        const json_t *session = find_kernel(reply, model_text(note, "kernel"));
        if (session)
            json_array_append_new(
                models, model(note, model_kernel(exchange->http, session)));
        else
            json_object_del(exchange->http->sessions, id);
    }
    exchange_json(exchange, 200, models);
}

static void list(exchange_t *exchange)
{
    desk_order(exchange, "session_list_request", json_object(), on_list);
}

/* The session of a reply, joined to the note that waits for it. */
static void answer_with(exchange_t *exchange, const json_t *session)
{
    json_t *note =
        json_object_get(exchange->http->sessions, exchange->parameters[0]);
    bool is_new = exchange->method == METHOD_POST;

    if (!note) {
        exchange_fail(exchange, 404, "Session not found: session_id=%.100s",
                      exchange->parameters[0]);
        return;
    }
    if (is_new)
        exchange_header(exchange, "Location", "%s/api/sessions/%s",
                        exchange->http->base, model_text(note, "id"));
    notes_save(exchange->http);
    exchange_json(exchange, is_new ? 201 : 200,
                  model(note, model_kernel(exchange->http, session)));
}

static void on_kernel(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");

    if (strcmp(model_text(reply, "status"), "ok") == 0
        && !model_is_gone(session)) {
        answer_with(exchange, session);
        return;
    }
    json_object_del(exchange->http->sessions, exchange->parameters[0]);
    if (exchange->method == METHOD_GET)
        exchange_fail(exchange, 404, "Session not found: session_id=%.100s",
                      exchange->parameters[0]);
    else
        exchange_fail(exchange, 400, "No such kernel: %s",
                      model_text(reply, "evalue"));
}

static void show_kernel(exchange_t *exchange, const json_t *note)
{
    desk_order(exchange, "session_show_request",
               json_pack("{s:s}", "id", model_text(note, "kernel")), on_kernel);
}

static void show(exchange_t *exchange)
{
    const json_t *note = find(exchange);

    if (note)
        show_kernel(exchange, note);
}

/* --- Making --- */

static void on_made(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    json_t *note =
        json_object_get(exchange->http->sessions, exchange->parameters[0]);

    if (!desk_is_ok(exchange, reply)) {
        if (exchange->method == METHOD_POST)
            json_object_del(exchange->http->sessions, exchange->parameters[0]);
        return;
    }
    json_object_set(note, "kernel", json_object_get(session, "id"));
    answer_with(exchange, session);
}

/* A kernel for the note: one that there is, or a new one. */
static void join_kernel(exchange_t *exchange, json_t *note, const json_t *body)
{
    const json_t *kernel = json_object_get(body, "kernel");
    const char *id = model_text(kernel, "id");

    if (*id) {
        json_object_set_new(note, "kernel", json_string(id));
        show_kernel(exchange, note);
        return;
    }
    json_t *content =
        model_creation(exchange, body, model_text(kernel, "name"));
    if (content)
        desk_order(exchange, "session_create_request", content, on_made);
    else if (exchange->method == METHOD_POST)
        json_object_del(exchange->http->sessions, exchange->parameters[0]);
}

static json_t *note_of_path(const http_t *http, const char *path)
{
    json_t *note;
    const char *id;

    json_object_foreach(http->sessions, id,
                        note) if (strcmp(model_text(note, "path"), path)
                                  == 0) return note;
    return NULL;
}

static char *new_id(void)
{
    uint8_t b[16];

    randombytes_buf(b, sizeof b);
    return mem_format("%02x%02x%02x%02x-%02x%02x-4%1x%02x-a%1x%02x-"
                      "%02x%02x%02x%02x%02x%02x",
                      b[0], b[1], b[2], b[3], b[4], b[5], b[6] & 15, b[7],
                      b[8] & 15, b[9], b[10], b[11], b[12], b[13], b[14],
                      b[15]);
}

/* The old form of the body: {"notebook": {"path"}}. */
static const char *body_text(const json_t *body, const char *name)
{
    const char *text = model_text(body, name);
    const json_t *notebook = json_object_get(body, "notebook");

    if (*text || !json_is_object(notebook))
        return text;
    return strcmp(name, "type") == 0 ? "notebook" : model_text(notebook, name);
}

static void create(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (!exchange_read_object(exchange, &body))
        return;
    if (!json_object_size(body)) {
        exchange_fail(exchange, 400, "No JSON data provided");
        return;
    }
    const char *path = body_text(body, "path"), *type = body_text(body, "type");
    if (!*path || !*type) {
        exchange_fail(exchange, 400, "Missing field in JSON data: %s",
                      *path ? "type" : "path");
        return;
    }
    json_t *note = note_of_path(exchange->http, path);
    if (note && *model_text(note, "kernel")) {
        exchange->parameters[0] = mem_text(model_text(note, "id"));
        show_kernel(exchange, note);
        return;
    }
    exchange->parameters[0] = new_id();
    note = json_pack("{s:s,s:s,s:s,s:s,s:s}", "id", exchange->parameters[0],
                     "path", path, "name", body_text(body, "name"), "type",
                     type, "kernel", "");
    json_object_set_new(exchange->http->sessions, exchange->parameters[0],
                        note);
    join_kernel(exchange, note, body);
}

/* --- Changing --- */

static void change(exchange_t *exchange)
{
    static const char *const names[] = {"path", "name", "type"};
    json_auto_t *body = NULL;
    json_t *note = find(exchange);

    if (!note || !exchange_read_object(exchange, &body))
        return;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_is_string(json_object_get(body, names[i])))
            json_object_set(note, names[i], json_object_get(body, names[i]));
    const json_t *kernel = json_object_get(body, "kernel");
    if (*model_text(kernel, "id") || *model_text(kernel, "name"))
        join_kernel(exchange, note, body);
    else
        show_kernel(exchange, note);
}

static void on_gone(exchange_t *exchange, const json_t *session)
{
    (void) session;
    json_object_del(exchange->http->sessions, exchange->parameters[0]);
    notes_save(exchange->http);
    exchange_empty(exchange, 204);
}

static void on_ordered(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        return;
    watch_forget(exchange);
    json_object_del(exchange->http->sessions, exchange->parameters[0]);
    notes_save(exchange->http);
    exchange_fail(exchange, 410, "Kernel deleted before session; %s",
                  model_text(reply, "evalue"));
}

static void discard(exchange_t *exchange)
{
    const json_t *note = find(exchange);
    const char *kernel = model_text(note, "kernel");

    if (note && model_await(exchange, kernel, AWAIT_END, on_gone))
        desk_order(exchange, "session_delete_request",
                   json_pack("{s:s}", "id", kernel), on_ordered);
}

const route_t session_routes[] = {
    {METHOD_GET, "/api/sessions", AUTH_OBSERVE, list},
    {METHOD_POST, "/api/sessions", AUTH_EXECUTE, create},
    {METHOD_GET, "/api/sessions/{}", AUTH_OBSERVE, show},
    {METHOD_PATCH, "/api/sessions/{}", AUTH_EXECUTE, change},
    {METHOD_DELETE, "/api/sessions/{}", AUTH_EXECUTE, discard},
    {0},
};
