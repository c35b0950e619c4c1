/* /api/sessions: a document's path and the kernel that runs for it, as
 * front ends think of them; remembered in gateway/http/ws/resume_state.c. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/ws/resume_state.h"
#include "gateway/http/ws/subscription.h"

#include <sodium.h>

#include <string.h>

static void answer_unknown(exchange_t *exchange)
{
    exchange_fail(exchange, 404, "Session not found: session_id=%.100s",
                  exchange->parameters[0]);
}

/* The note of the first parameter; NULL: answered. */
static json_t *find(exchange_t *exchange)
{
    json_t *note =
        json_object_get(exchange->http->sessions, exchange->parameters[0]);

    if (!note)
        answer_unknown(exchange);
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
    if (model_may_list(exchange))
        desk_order(exchange, "session_list_request", json_object(), on_list);
}

/* --- What a kernel's owner says of it --- */

/* The session of a reply if it is this one and lives, else NULL. */
static const json_t *alive(const json_t *reply, const char *id)
{
    const json_t *session = model_asked(reply, id);

    return session && !model_is_gone(session) ? session : NULL;
}

/* The reply says whether there is such a kernel. False: it says that it
 * cannot be told now, and that was answered. */
static bool is_told(exchange_t *exchange, const json_t *reply)
{
    static const char *const names[] = {"UnknownSession", "SessionGone",
                                        "AmbiguousSession"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(model_text(reply, "ename"), names[i]) == 0)
            return true;
    return desk_is_ok(exchange, reply);
}

static void forget(exchange_t *exchange)
{
    json_object_del(exchange->http->sessions, exchange->parameters[0]);
    notes_save(exchange->http);
}

/* The second parameter is what was asked for: a note may have got another
 * kernel when the answer comes. */
static void show_kernel(exchange_t *exchange, const char *kernel,
                        desk_reply_fn *fn)
{
    free(exchange->parameters[1]);
    exchange->parameters[1] = mem_text(kernel);
    desk_order(exchange, "session_show_request",
               json_pack("{s:s}", "id", kernel), fn);
}

/* The kernel of the first parameter's note, as the reply has it. NULL: that
 * was answered or is asked again by `fn`, or `ret_is_gone`: there is no note,
 * none any more when its kernel has ended. */
static const json_t *note_kernel(exchange_t *exchange, const json_t *reply,
                                 desk_reply_fn *fn, bool *ret_is_gone)
{
    const json_t *note =
        json_object_get(exchange->http->sessions, exchange->parameters[0]);
    const char *kernel = model_text(note, "kernel");

    *ret_is_gone = false;
    if (!is_told(exchange, reply))
        return NULL;
    if (note && strcmp(kernel, exchange->parameters[1]) != 0) {
        show_kernel(exchange, kernel, fn);
        return NULL;
    }
    const json_t *session = note ? alive(reply, kernel) : NULL;
    *ret_is_gone = !session;
    if (note && !session)
        forget(exchange);
    return session;
}

static void answer_with(exchange_t *exchange, const json_t *note,
                        const json_t *session)
{
    bool is_new = exchange->method == METHOD_POST;

    if (is_new)
        exchange_header(exchange, "Location", "%s/api/sessions/%s",
                        exchange->http->base, model_text(note, "id"));
    exchange_json(exchange, is_new ? 201 : 200,
                  model(note, model_kernel(exchange->http, session)));
}

static void on_show(exchange_t *exchange, const json_t *reply)
{
    bool is_gone;
    const json_t *session = note_kernel(exchange, reply, on_show, &is_gone);

    if (session)
        answer_with(exchange, find(exchange), session);
    else if (is_gone)
        answer_unknown(exchange);
}

static void show(exchange_t *exchange)
{
    const json_t *note = find(exchange);

    if (note)
        show_kernel(exchange, model_text(note, "kernel"), on_show);
}

/* --- Making and changing: a note stands as it was until the kernel that it is
 * to have is known to be there; what is to become of it is the exchange's
 * task until then --- */

static void end_change(void **self_p)
{
    json_decref(*self_p);
    *self_p = NULL;
}

static void on_dropped(exchange_t *exchange, const json_t *reply)
{
    (void) exchange;
    (void) reply;
}

/* A kernel that a document has no more is ended, unless another one has it.
 * After the answer: nobody waits for it. */
static void drop_kernel(exchange_t *exchange, const char *kernel)
{
    json_t *note;
    const char *id;

    json_object_foreach(exchange->http->sessions, id, note)
    {
        if (strcmp(model_text(note, "kernel"), kernel) == 0)
            return;
    }
    desk_order(exchange, "session_delete_request",
               json_pack("{s:s}", "id", kernel), on_dropped);
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

static void on_known(exchange_t *exchange, const json_t *reply);

static void use_note(exchange_t *exchange, const json_t *note)
{
    free(exchange->parameters[0]);
    exchange->parameters[0] = mem_text(model_text(note, "id"));
    show_kernel(exchange, model_text(note, "kernel"), on_known);
}

/* The new note has its kernel. Somebody may have been faster with the same
 * path. */
static void finish_new(exchange_t *exchange, const json_t *session,
                       bool is_made)
{
    json_t *change = exchange->task;
    const json_t *other =
        note_of_path(exchange->http, model_text(change, "path"));

    if (other) {
        use_note(exchange, other);
        if (is_made)
            drop_kernel(exchange, model_text(session, "id"));
        return;
    }
    json_object_set(exchange->http->sessions, model_text(change, "id"), change);
    notes_save(exchange->http);
    answer_with(exchange, change, session);
}

static void finish(exchange_t *exchange, const json_t *session, bool is_made)
{
    json_t *note =
        json_object_get(exchange->http->sessions, exchange->parameters[0]);
    cleanup_free char *before = mem_text(model_text(note, "kernel"));

    if (exchange->method == METHOD_POST) {
        finish_new(exchange, session, is_made);
        return;
    }
    if (!note) {
        answer_unknown(exchange);
        if (is_made)
            drop_kernel(exchange, model_text(session, "id"));
        return;
    }
    json_object_update(note, exchange->task);
    notes_save(exchange->http);
    answer_with(exchange, note, session);
    if (is_made)
        drop_kernel(exchange, before);
}

static void on_made(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");

    if (!desk_is_ok(exchange, reply))
        return;
    json_object_set(exchange->task, "kernel", json_object_get(session, "id"));
    finish(exchange, session, true);
}

static void on_joined(exchange_t *exchange, const json_t *reply)
{
    const char *id = model_text(exchange->task, "kernel");

    if (!is_told(exchange, reply))
        return;
    const json_t *session = alive(reply, id);
    if (session)
        finish(exchange, session, false);
    else
        exchange_fail(exchange, 400, "No such kernel: %.100s", id);
}

/* The body is Jupyter Server's: Lab shows `short_message` as a title. */
static void refuse_profile(exchange_t *exchange, const char *name)
{
    char message[512], title[256];

    snprintf(message, sizeof message,
             "The '%.100s' kernel is not available. Please pick another "
             "suitable kernel instead, or install that kernel.",
             name);
    snprintf(title, sizeof title, "%.100s not found", name);
    exchange_json(exchange, 501,
                  json_pack("{s:s,s:s,s:s}", "message", message,
                            "short_message", title, "reason",
                            status_text(501)));
}

/* A kernel for the change: one that there is, or a new one. */
static void find_kernel_for(exchange_t *exchange, const json_t *body)
{
    const json_t *kernel = json_object_get(body, "kernel");
    const char *id = model_text(kernel, "id");
    const char *name = model_text(kernel, "name");

    if (*id) {
        json_object_set_new(exchange->task, "kernel", json_string(id));
        show_kernel(exchange, id, on_joined);
        return;
    }
    if (!model_has_profile(exchange->http, name)) {
        refuse_profile(exchange, name);
        return;
    }
    json_t *content = model_creation(exchange, body, name);
    if (content)
        desk_order(exchange, "session_create_request", content, on_made);
}

/* --- Making --- */

/* The old form of the body: {"notebook": {"path"}}. */
static const char *body_text(const json_t *body, const char *name)
{
    const char *text = model_text(body, name);
    const json_t *notebook = json_object_get(body, "notebook");

    if (*text || !json_is_object(notebook))
        return text;
    return strcmp(name, "type") == 0 ? "notebook" : model_text(notebook, name);
}

/* The body was looked at before. */
static void make(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (!exchange_read_object(exchange, &body))
        return;
    free(exchange->parameters[0]);
    exchange->parameters[0] = new_id();
    exchange_keep(exchange,
                  json_pack("{s:s,s:s,s:s,s:s,s:s}", "id",
                            exchange->parameters[0], "path",
                            body_text(body, "path"), "name",
                            body_text(body, "name"), "type",
                            body_text(body, "type"), "kernel", ""),
                  end_change);
    find_kernel_for(exchange, body);
}

/* The path has a note already, whose kernel may have ended. */
static void on_known(exchange_t *exchange, const json_t *reply)
{
    bool is_gone;
    const json_t *session = note_kernel(exchange, reply, on_known, &is_gone);

    if (session)
        answer_with(exchange, find(exchange), session);
    else if (is_gone)
        make(exchange);
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
    const json_t *note = note_of_path(exchange->http, path);
    if (note)
        use_note(exchange, note);
    else
        make(exchange);
}

/* --- Changing --- */

/* Nothing was asked of its kernel, which has to be there all the same. */
static void on_kept(exchange_t *exchange, const json_t *reply)
{
    bool is_gone;
    const json_t *session = note_kernel(exchange, reply, on_kept, &is_gone);

    if (session)
        finish(exchange, session, false);
    else if (is_gone)
        answer_unknown(exchange);
}

/* The texts that are to change; NULL: one is none, and that was answered. */
static json_t *read_change(exchange_t *exchange, const json_t *body)
{
    static const char *const names[] = {"path", "name", "type"};
    json_auto_t *change = json_object();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(body, names[i]);
        if (!value || json_is_null(value))
            continue;
        if (!json_is_string(value)) {
            exchange_fail(exchange, 400, "%s must be a text", names[i]);
            return NULL;
        }
        json_object_set(change, names[i], value);
    }
    return take_ptr(change);
}

static void change(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    const json_t *note = find(exchange);

    if (!note || !exchange_read_object(exchange, &body))
        return;
    json_t *change = read_change(exchange, body);
    if (!change)
        return;
    exchange_keep(exchange, change, end_change);
    const json_t *kernel = json_object_get(body, "kernel");
    if (*model_text(kernel, "id") || *model_text(kernel, "name"))
        find_kernel_for(exchange, body);
    else
        show_kernel(exchange, model_text(note, "kernel"), on_kept);
}

static void on_gone(exchange_t *exchange, const json_t *session)
{
    (void) session;
    forget(exchange);
    exchange_empty(exchange, 204);
}

static void on_ordered(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        return;
    watch_forget(exchange);
    if (!is_told(exchange, reply))
        return;
    forget(exchange);
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
