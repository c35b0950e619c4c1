/* Requests about a whole sandbox: connect to it, describe it, change its end,
 * end it. The registry decides whether the session lives; the rest is in the
 * sandbox's note. */
#include "gateway/http/e2b/sandbox_life.h"

#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/sandbox.h"
#include "gateway/http/e2b/sandbox_model.h"
#include "gateway/http/e2b/sandbox_target.h"

#include <string.h>

static void fail_unknown(exchange_t *exchange)
{
    exchange_fail(exchange, 404,
                  "There is no sandbox %.100s: it has ended, or was not made "
                  "over E2B's API",
                  exchange->request.parameters[0]);
}

/* Returns the note of the sandbox that the path names; NULL if it was refused.
 */
static const json_t *note_of(exchange_t *exchange)
{
    const json_t *note =
        sandbox_find(exchange->http, exchange->request.parameters[0]);

    if (!note)
        fail_unknown(exchange);
    return note;
}

/* Returns the living session of the path in a reply, lent; NULL if it was
 * refused. */
static const json_t *session_of(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = model_asked(reply, exchange->request.parameters[0]);

    if (session && !model_is_gone(session) && note_of(exchange))
        return session;
    if (!session && strcmp(model_text(reply, "ename"), "UnknownSession") != 0
        && !registry_client_is_ok(exchange, reply))
        return NULL;
    fail_unknown(exchange);
    return NULL;
}

static void ask(exchange_t *exchange, registry_client_reply_fn *fn)
{
    if (note_of(exchange))
        registry_client_ask(exchange, "session_show_request",
                            jupyter_model_id(exchange), fn);
}

/* --- One sandbox --- */

static void on_shown(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);

    if (session)
        exchange_json(
            exchange, 200,
            sandbox_model(exchange->http, session, note_of(exchange)));
}

void sandbox_show(exchange_t *exchange)
{
    ask(exchange, on_shown);
}

/* Moves the end for a client that connects: later, never earlier. */
static void on_connect_shown(exchange_t *exchange, const json_t *reply)
{
    const char *id = exchange->request.parameters[0];
    json_auto_t *body = NULL;
    double seconds;

    if (!session_of(exchange, reply) || !exchange_read_object(exchange, &body)
        || !sandbox_model_timeout(exchange, body, SANDBOX_TIMEOUT_V2, &seconds))
        return;
    sandbox_set_end(exchange->http, id, seconds, true);
    exchange_json(
        exchange, 200,
        sandbox_model_access(exchange, id, sandbox_find(exchange->http, id)));
}

void sandbox_connect(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    double seconds;

    /* Mistakes of the request are answered before the registry is asked. */
    if (exchange_read_object(exchange, &body)
        && sandbox_model_timeout(exchange, body, SANDBOX_TIMEOUT_V2, &seconds))
        ask(exchange, on_connect_shown);
}

void sandbox_set_timeout(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    double seconds;

    if (!exchange_read_object(exchange, &body)
        || !sandbox_model_timeout(exchange, body, -1, &seconds))
        return;
    if (seconds < 0) {
        exchange_fail(exchange, 400, "timeout is missing: a number of seconds");
        return;
    }
    if (!note_of(exchange))
        return;
    sandbox_set_end(exchange->http, exchange->request.parameters[0], seconds,
                    false);
    exchange_empty(exchange, 204);
}

static void on_gone(exchange_t *exchange, const json_t *session)
{
    (void) session;
    sandbox_forget(exchange->http, exchange->request.parameters[0]);
    exchange_empty(exchange, 204);
}

static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        jupyter_model_await_end(exchange, reply, on_gone);
    else
        fail_unknown(exchange);
}

static void on_end_shown(exchange_t *exchange, const json_t *reply)
{
    if (session_of(exchange, reply))
        registry_client_ask(exchange, "session_delete_request",
                            jupyter_model_id(exchange), on_removed);
}

void sandbox_end(exchange_t *exchange)
{
    ask(exchange, on_end_shown);
}

void sandbox_health(exchange_t *exchange)
{
    if (sandbox_target(exchange))
        exchange_empty(exchange, 204);
}
