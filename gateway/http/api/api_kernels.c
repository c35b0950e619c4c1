/* /api/kernels: a kernel is a session with the same id. The status codes are
 * those that JupyterLab's services require. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/subscription.h"

#include <string.h>

static void on_list(exchange_t *exchange, const json_t *reply)
{
    json_t *models, *session;
    size_t i;

    if (!registry_client_is_ok(exchange, reply))
        return;
    models = json_array();
    json_array_foreach(json_object_get(reply, "sessions"), i,
                       session) if (!model_is_gone(session))
        json_array_append_new(models,
                              jupyter_model_kernel(exchange->http, session));
    exchange_json(exchange, 200, models);
}

static void list(exchange_t *exchange)
{
    if (jupyter_model_may_list(exchange))
        registry_client_ask(exchange, "session_list_request", json_object(),
                            on_list);
}

/* Returns the model of the session in a reply; NULL if it is gone or has
 * another id than requested. */
static const json_t *reply_session(exchange_t *exchange, const json_t *reply)
{
    const char *id = exchange->request.parameters[0];
    const json_t *session = model_asked(reply, id);

    if (jupyter_model_is_unknown(exchange, reply)
        || !registry_client_is_ok(exchange, reply))
        return NULL;
    if (session && !model_is_gone(session))
        return session;
    if (session)
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s; %s", id,
                      model_text(session, "detail"));
    else
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s", id);
    return NULL;
}

static void on_show(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = reply_session(exchange, reply);

    if (session)
        exchange_json(exchange, 200,
                      jupyter_model_kernel(exchange->http, session));
}

static void show(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_show);
}

static void on_create(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");

    if (!registry_client_is_ok(exchange, reply))
        return;
    exchange_header(exchange, "Location", "%s/api/kernels/%s",
                    exchange->http->base, model_text(session, "id"));
    exchange_json(exchange, 201, jupyter_model_kernel(exchange->http, session));
}

static void create(exchange_t *exchange)
{
    static const char *const texts[] = {"name", "path", NULL};
    json_auto_t *body = NULL;
    json_t *content;

    if (!exchange_read_object(exchange, &body)
        || !jupyter_model_are_texts(exchange, body, texts))
        return;
    content = jupyter_model_creation(
        exchange, body, json_string_value(json_object_get(body, "name")));
    if (content)
        registry_client_ask(exchange, "session_create_request", content,
                            on_create);
}

static void on_gone(exchange_t *exchange, const json_t *session)
{
    (void) session;
    exchange_empty(exchange, 204);
}

/* Answers when the work is done, not when it has begun. The session is shown
 * first, because the next steps need its whole id. */
static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        jupyter_model_await_end(exchange, reply, on_gone);
}

/* Returns true if the kernel died. Its client may still delete it, or restart
 * it under its id: Jupyter Server keeps such a kernel as dead. */
static bool has_died(const exchange_t *exchange, const json_t *reply)
{
    const json_t *session = model_asked(reply, exchange->request.parameters[0]);

    return session && jupyter_model_has_died(session);
}

static void on_remove_shown(exchange_t *exchange, const json_t *reply)
{
    if (has_died(exchange, reply))
        exchange_empty(exchange, 204);
    else if (reply_session(exchange, reply))
        registry_client_ask(exchange, "session_delete_request",
                            jupyter_model_id(exchange), on_removed);
}

static void discard(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_remove_shown);
}

/* Answers when the outcome is known, whatever it is. */
static void on_interrupt(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

static void on_interrupt_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_session(exchange, reply))
        registry_client_ask(exchange, "session_interrupt_request",
                            jupyter_model_id(exchange), on_interrupt);
}

static void interrupt(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_interrupt_shown);
}

static void fail_restart(exchange_t *exchange, const char *why)
{
    exchange_fail(exchange, 500, "Exception restarting kernel: %s", why);
}

static void answer_restart(exchange_t *exchange, const json_t *session)
{
    if (json_object_size(session))
        exchange_json(exchange, 200,
                      jupyter_model_kernel(exchange->http, session));
    else
        fail_restart(exchange, "it is not ready yet");
}

static void on_replaced(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        answer_restart(exchange, json_object_get(reply, "session"));
}

/* Goes on when the kernel had ended before the restart was requested from
 * it. */
static void on_end_shown(exchange_t *exchange, const json_t *reply)
{
    if (has_died(exchange, reply))
        registry_client_ask(exchange, "session_revive_request",
                            jupyter_model_id(exchange), on_replaced);
    else
        fail_restart(exchange, "its session ended");
}

static void on_restarted(exchange_t *exchange, const json_t *session)
{
    if (session)
        answer_restart(exchange, session);
    else
        registry_client_ask(exchange, "session_show_request",
                            jupyter_model_id(exchange), on_end_shown);
}

static void on_restart_shown(exchange_t *exchange, const json_t *reply)
{
    if (has_died(exchange, reply))
        registry_client_ask(exchange, "session_revive_request",
                            jupyter_model_id(exchange), on_replaced);
    else if (reply_session(exchange, reply)
             && jupyter_model_await(exchange, exchange->request.parameters[0],
                                    AWAIT_READY, on_restarted))
        registry_client_ask(exchange, "session_restart_request",
                            jupyter_model_id(exchange),
                            jupyter_model_on_restart);
}

static void restart(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_restart_shown);
}

const route_t kernel_routes[] = {
    {METHOD_GET, "/api/kernels", SCOPE_OBSERVE, list},
    {METHOD_POST, "/api/kernels", SCOPE_EXECUTE, create},
    {METHOD_GET, "/api/kernels/{}", SCOPE_OBSERVE, show},
    {METHOD_DELETE, "/api/kernels/{}", SCOPE_EXECUTE, discard},
    {METHOD_POST, "/api/kernels/{}/interrupt", SCOPE_EXECUTE, interrupt},
    {METHOD_POST, "/api/kernels/{}/restart", SCOPE_EXECUTE, restart},
    {METHOD_GET, ROUTES_CHANNELS, SCOPE_OBSERVE, exchange_refuse_plain},
    {0},
};
