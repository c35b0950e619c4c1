/* /api/kernels: a kernel is a session of hearth's, by its id. The codes are
 * those that JupyterLab's services insist on. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/ws/subscription.h"

#include <string.h>

static void on_list(exchange_t *exchange, const json_t *reply)
{
    json_t *models, *session;
    size_t i;

    if (!desk_is_ok(exchange, reply))
        return;
    models = json_array();
    json_array_foreach(json_object_get(reply, "sessions"), i,
                       session) if (!model_is_gone(session))
        json_array_append_new(models, model_kernel(exchange->http, session));
    exchange_json(exchange, 200, models);
}

static void list(exchange_t *exchange)
{
    if (model_may_list(exchange))
        desk_order(exchange, "session_list_request", json_object(), on_list);
}

/* The model of a reply's session, unless it is gone or not even the one that
 * was asked for. */
static const json_t *reply_session(exchange_t *exchange, const json_t *reply)
{
    const char *id = exchange->parameters[0];
    const json_t *session = model_asked(reply, id);

    if (model_is_unknown(exchange, reply) || !desk_is_ok(exchange, reply))
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
        exchange_json(exchange, 200, model_kernel(exchange->http, session));
}

static void show(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_show);
}

static void on_create(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");

    if (!desk_is_ok(exchange, reply))
        return;
    exchange_header(exchange, "Location", "%s/api/kernels/%s",
                    exchange->http->base, model_text(session, "id"));
    exchange_json(exchange, 201, model_kernel(exchange->http, session));
}

static void create(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    json_t *content;

    if (!exchange_read_object(exchange, &body))
        return;
    content = model_creation(exchange, body,
                             json_string_value(json_object_get(body, "name")));
    if (content)
        desk_order(exchange, "session_create_request", content, on_create);
}

/* What follows needs the whole id: it is looked at first. The answer comes
 * when it is done, not when it was begun. */
static void on_gone(exchange_t *exchange, const json_t *session)
{
    (void) session;
    exchange_empty(exchange, 204);
}

static void on_ordered(exchange_t *exchange, const json_t *reply)
{
    if (!desk_is_ok(exchange, reply))
        watch_forget(exchange);
}

static void on_remove_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_session(exchange, reply)
        && model_await(exchange, exchange->parameters[0], AWAIT_END, on_gone))
        desk_order(exchange, "session_delete_request", model_id(exchange),
                   on_ordered);
}

static void discard(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange),
               on_remove_shown);
}

/* Answered when the outcome is known, whatever it is. */
static void on_interrupt(exchange_t *exchange, const json_t *reply)
{
    if (desk_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

static void on_interrupt_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_session(exchange, reply))
        desk_order(exchange, "session_interrupt_request", model_id(exchange),
                   on_interrupt);
}

static void interrupt(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange),
               on_interrupt_shown);
}

static void on_restarted(exchange_t *exchange, const json_t *session)
{
    if (session && json_object_size(session))
        exchange_json(exchange, 200, model_kernel(exchange->http, session));
    else
        exchange_fail(exchange, 500, "Exception restarting kernel: %s",
                      session ? "it is not ready yet" : "its session ended");
}

static void on_restart_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_session(exchange, reply)
        && model_await(exchange, exchange->parameters[0], AWAIT_READY,
                       on_restarted))
        desk_order(exchange, "session_restart_request", model_id(exchange),
                   on_ordered);
}

static void restart(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange),
               on_restart_shown);
}

/* A WebSocket begins elsewhere (gateway/http/ws/ws_handshake.c). */
static void attach(exchange_t *exchange)
{
    exchange_fail(exchange, 400,
                  "Can \"Upgrade\" only to \"WebSocket\": this path is for "
                  "WebSockets alone");
}

const route_t kernel_routes[] = {
    {METHOD_GET, "/api/kernels", AUTH_OBSERVE, list},
    {METHOD_POST, "/api/kernels", AUTH_EXECUTE, create},
    {METHOD_GET, "/api/kernels/{}", AUTH_OBSERVE, show},
    {METHOD_DELETE, "/api/kernels/{}", AUTH_EXECUTE, discard},
    {METHOD_POST, "/api/kernels/{}/interrupt", AUTH_EXECUTE, interrupt},
    {METHOD_POST, "/api/kernels/{}/restart", AUTH_EXECUTE, restart},
    {METHOD_GET, ROUTES_CHANNELS, AUTH_OBSERVE, attach},
    {0},
};
