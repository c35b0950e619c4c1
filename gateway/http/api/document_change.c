/* See document_change.h. A note stays unchanged until its new kernel is known
 * to exist; until then the exchange's task has the change. */
#include "gateway/http/api/document_change.h"

#include "base/uuid.h"
#include "gateway/http/api/document_note.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/resume_state.h"

#include <sodium.h>

#include <string.h>

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

/* Returns true if a document has that kernel. */
static bool has_document(const http_t *http, const char *kernel)
{
    json_t *note;
    const char *id;

    json_object_foreach(http->kept.sessions, id, note)
    {
        if (strcmp(model_text(note, "kernel"), kernel) == 0)
            return true;
    }
    return false;
}

/* Ends a kernel that no document has. The request was answered: no client waits
 * for the end. */
static void drop_kernel(exchange_t *exchange, const char *kernel)
{
    if (!has_document(exchange->http, kernel))
        registry_client_ask(exchange, "session_delete_request",
                            json_pack("{s:s}", "id", kernel), on_dropped);
}

static void on_replaced(exchange_t *exchange, const json_t *session)
{
    (void) session;
    document_note_show(exchange);
}

/* Goes on when the old kernel is gone, or did not exist any more. */
static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        jupyter_model_await_end(exchange, reply, on_replaced);
    else
        document_note_show(exchange);
}

/* Ends the former kernel of a document and answers when it has ended. A client
 * that lists kernels after the answer finds only the new one. */
static void replace_kernel(exchange_t *exchange, const char *kernel)
{
    registry_client_ask(exchange, "session_delete_request",
                        json_pack("{s:s}", "id", kernel), on_removed);
}

static json_t *note_of_path(const http_t *http, const char *path)
{
    json_t *note;
    const char *id;

    json_object_foreach(http->kept.sessions, id,
                        note) if (strcmp(model_text(note, "path"), path)
                                  == 0) return note;
    return NULL;
}

static char *new_id(void)
{
    uint8_t b[16];
    char id[UUID_SIZE + 1];

    randombytes_buf(b, sizeof b);
    uuid_write(b, 4, id);
    return mem_text(id);
}

static void on_known(exchange_t *exchange, const json_t *reply);

static void use_note(exchange_t *exchange, const json_t *note)
{
    free(exchange->request.parameters[0]);
    exchange->request.parameters[0] = mem_text(model_text(note, "id"));
    document_note_ask(exchange, model_text(note, "kernel"), on_known);
}

/* Adds the new note, which has its kernel. Another client may have made a note
 * with the same path meanwhile. */
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
    json_object_set(exchange->http->kept.sessions, model_text(change, "id"),
                    change);
    resume_state_save(exchange->http);
    document_note_answer(exchange, change, session);
}

static void finish(exchange_t *exchange, const json_t *session, bool is_made)
{
    json_t *note = json_object_get(exchange->http->kept.sessions,
                                   exchange->request.parameters[0]);
    cleanup_free char *before = mem_text(model_text(note, "kernel"));

    if (exchange->request.method == METHOD_POST) {
        finish_new(exchange, session, is_made);
        return;
    }
    if (!note) {
        document_note_unknown(exchange);
        if (is_made)
            drop_kernel(exchange, model_text(session, "id"));
        return;
    }
    json_object_update(note, exchange->task);
    resume_state_save(exchange->http);
    if (is_made && !has_document(exchange->http, before))
        replace_kernel(exchange, before);
    else
        document_note_answer(exchange, note, session);
}

static void on_made(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");

    if (!registry_client_is_ok(exchange, reply))
        return;
    json_object_set(exchange->task, "kernel", json_object_get(session, "id"));
    finish(exchange, session, true);
}

static void on_joined(exchange_t *exchange, const json_t *reply)
{
    const char *id = model_text(exchange->task, "kernel");

    if (!document_note_is_conclusive(exchange, reply))
        return;
    const json_t *session = document_note_alive(reply, id);
    if (session)
        finish(exchange, session, false);
    else
        exchange_fail(exchange, 400, "No such kernel: %.100s", id);
}

/* Refuses a profile. The body is Jupyter Server's: JupyterLab shows
 * `short_message` as a title. */
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

/* Finds the kernel for the change: an existing one, or a new one. */
static void find_kernel_for(exchange_t *exchange, const json_t *body)
{
    const json_t *kernel = json_object_get(body, "kernel");
    const char *id = model_text(kernel, "id");
    const char *name = model_text(kernel, "name");

    if (*id) {
        json_object_set_new(exchange->task, "kernel", json_string(id));
        document_note_ask(exchange, id, on_joined);
        return;
    }
    if (!jupyter_model_has_profile(exchange->http, name)) {
        refuse_profile(exchange, name);
        return;
    }
    json_t *content = jupyter_model_creation(exchange, body, name);
    if (content)
        registry_client_ask(exchange, "session_create_request", content,
                            on_made);
}

/* --- Making --- */

/* Reads the old form of the body: {"notebook": {"path"}}. */
static const char *body_text(const json_t *body, const char *name)
{
    const char *text = model_text(body, name);
    const json_t *notebook = json_object_get(body, "notebook");

    if (*text || !json_is_object(notebook))
        return text;
    return strcmp(name, "type") == 0 ? "notebook" : model_text(notebook, name);
}

/* Checks the types of the body's members; false if one is wrong, and the
 * request was then answered. */
static bool check_body(exchange_t *exchange, const json_t *body)
{
    static const char *const texts[] = {"path", "name", "type", NULL};
    static const char *const of_kernel[] = {"id", "name", NULL};
    const json_t *kernel = json_object_get(body, "kernel");

    if (kernel && !json_is_object(kernel) && !json_is_null(kernel)) {
        exchange_fail(exchange, 400, "kernel must be an object");
        return false;
    }
    return jupyter_model_are_texts(exchange, body, texts)
           && jupyter_model_are_texts(exchange, kernel, of_kernel)
           && jupyter_model_are_texts(exchange,
                                      json_object_get(body, "notebook"), texts);
}

/* Makes the note; the body was checked before. */
static void make(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (!exchange_read_object(exchange, &body))
        return;
    free(exchange->request.parameters[0]);
    exchange->request.parameters[0] = new_id();
    exchange_keep(exchange,
                  json_pack("{s:s,s:s,s:s,s:s,s:s}", "id",
                            exchange->request.parameters[0], "path",
                            body_text(body, "path"), "name",
                            body_text(body, "name"), "type",
                            body_text(body, "type"), "kernel", ""),
                  end_change);
    find_kernel_for(exchange, body);
}

/* Answers with the note that the path already has, whose kernel may have ended.
 */
static void on_known(exchange_t *exchange, const json_t *reply)
{
    bool is_gone;
    const json_t *session =
        document_note_kernel(exchange, reply, on_known, &is_gone);

    if (session)
        document_note_answer(exchange, document_note_find(exchange), session);
    else if (is_gone)
        make(exchange);
}

void document_change_create(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (!exchange_read_object(exchange, &body))
        return;
    if (!json_object_size(body)) {
        exchange_fail(exchange, 400, "No JSON data provided");
        return;
    }
    if (!check_body(exchange, body))
        return;
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

/* Makes a change that keeps the kernel, which still has to exist. */
static void on_kept(exchange_t *exchange, const json_t *reply)
{
    bool is_gone;
    const json_t *session =
        document_note_kernel(exchange, reply, on_kept, &is_gone);

    if (session)
        finish(exchange, session, false);
    else if (is_gone)
        document_note_unknown(exchange);
}

/* Returns the texts to change, owned by the caller. */
static json_t *read_change(const json_t *body)
{
    static const char *const names[] = {"path", "name", "type"};
    json_t *change = json_object();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(body, names[i]);
        if (json_is_string(value))
            json_object_set(change, names[i], value);
    }
    return change;
}

void document_change_update(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    const json_t *note = document_note_find(exchange);

    if (!note || !exchange_read_object(exchange, &body)
        || !check_body(exchange, body))
        return;
    exchange_keep(exchange, read_change(body), end_change);
    const json_t *kernel = json_object_get(body, "kernel");
    if (*model_text(kernel, "id") || *model_text(kernel, "name"))
        find_kernel_for(exchange, body);
    else
        document_note_ask(exchange, model_text(note, "kernel"), on_kept);
}
