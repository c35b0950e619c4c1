/* /api/sessions: the path of a document and the kernel that runs for it, as
 * Jupyter's clients define them. They are kept in
 * gateway/http/subscriptions/resume_state.c. */
#include "gateway/http/api/document_change.h"
#include "gateway/http/api/document_note.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

#include <string.h>

static const json_t *find_kernel(const json_t *reply, const char *id)
{
    const json_t *sessions = json_object_get(reply, "sessions"), *session;
    size_t i;

    json_array_foreach(sessions, i,
                       session) if (strcmp(model_text(session, "id"), id) == 0
                                    && !model_is_gone(session)) return session;
    return NULL;
}

/* Forgets notes whose kernel has gone, like Jupyter Server does. */
static void on_list(exchange_t *exchange, const json_t *reply)
{
    json_t *models, *note;
    const char *id;
    void *next;

    if (!registry_client_is_ok(exchange, reply))
        return;
    models = json_array();
    json_object_foreach_safe(exchange->http->kept.sessions, next, id, note)
    {
        const json_t *session = find_kernel(reply, model_text(note, "kernel"));
        if (session)
            json_array_append_new(
                models,
                document_note_model(
                    note, jupyter_model_kernel(exchange->http, session)));
        else
            json_object_del(exchange->http->kept.sessions, id);
    }
    exchange_json(exchange, 200, models);
}

static void list(exchange_t *exchange)
{
    if (jupyter_model_may_list(exchange))
        registry_client_ask(exchange, "session_list_request", json_object(),
                            on_list);
}

static void on_gone(exchange_t *exchange, const json_t *session)
{
    (void) session;
    document_note_forget(exchange);
    exchange_empty(exchange, 204);
}

static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0) {
        jupyter_model_await_end(exchange, reply, on_gone);
        return;
    }
    if (!document_note_is_conclusive(exchange, reply))
        return;
    document_note_forget(exchange);
    exchange_fail_by(exchange, 410, model_text(reply, "ename"),
                     "Kernel deleted before session; %s",
                     model_text(reply, "evalue"));
}

static void discard(exchange_t *exchange)
{
    const json_t *note = document_note_find(exchange);
    const char *kernel = model_text(note, "kernel");

    if (note)
        registry_client_ask(exchange, "session_delete_request",
                            json_pack("{s:s}", "id", kernel), on_removed);
}

const route_t session_routes[] = {
    {METHOD_GET, "/api/sessions", SCOPE_OBSERVE, list},
    {METHOD_POST, "/api/sessions", SCOPE_EXECUTE, document_change_create},
    {METHOD_GET, "/api/sessions/{}", SCOPE_OBSERVE, document_note_show},
    {METHOD_PATCH, "/api/sessions/{}", SCOPE_EXECUTE, document_change_update},
    {METHOD_DELETE, "/api/sessions/{}", SCOPE_EXECUTE, discard},
    {0},
};
