/* See code_context.h. */
#include "gateway/http/e2b/code_context.h"

#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/sandbox_target.h"

#include <string.h>

#define CONTEXT_ID "default"
#define LANGUAGE   "python"
#define CWD        "/workspace"

static json_t *context_model(void)
{
    return json_pack("{s:s,s:s,s:s}", "id", CONTEXT_ID, "language", LANGUAGE,
                     "cwd", CWD);
}

static bool check_text(exchange_t *exchange, const json_t *body,
                       const char *name)
{
    const json_t *value = json_object_get(body, name);

    if (!value || json_is_null(value) || json_is_string(value))
        return true;
    exchange_fail(exchange, 400, "%s must be a text", name);
    return false;
}

static bool check_language(exchange_t *exchange, const json_t *body)
{
    const char *language = model_text(body, "language");

    if (!*language || strcmp(language, LANGUAGE) == 0)
        return true;
    exchange_fail(exchange, 400,
                  "A sandbox runs Python alone; there is no kernel for %.100s",
                  language);
    return false;
}

static bool is_known(exchange_t *exchange, const char *id)
{
    if (strcmp(id, CONTEXT_ID) == 0)
        return true;
    exchange_fail(exchange, 404,
                  "There is no context %.100s; a sandbox has one, " CONTEXT_ID,
                  id);
    return false;
}

bool code_context_check(exchange_t *exchange, const json_t *body)
{
    const char *id = model_text(body, "context_id");

    if (!check_text(exchange, body, "context_id")
        || !check_text(exchange, body, "language"))
        return false;
    if (*id && *model_text(body, "language")) {
        exchange_fail(exchange, 400,
                      "context_id and language exclude each other");
        return false;
    }
    return check_language(exchange, body) && (!*id || is_known(exchange, id));
}

void code_context_list(exchange_t *exchange)
{
    if (sandbox_target(exchange))
        exchange_json(exchange, 200, json_pack("[o]", context_model()));
}

void code_context_create(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (exchange_read_object(exchange, &body)
        && check_text(exchange, body, "language")
        && check_text(exchange, body, "cwd") && check_language(exchange, body)
        && sandbox_target(exchange))
        exchange_fail(exchange, 501,
                      "A sandbox has one context, because its session has one "
                      "kernel: make another sandbox, or run code without a "
                      "context");
}

/* Returns true if the path names the context and the headers a sandbox, which
 * is then the first parameter; if not, it was refused. */
static bool find(exchange_t *exchange)
{
    return is_known(exchange, exchange->request.parameters[0])
           && sandbox_target(exchange);
}

void code_context_remove(exchange_t *exchange)
{
    if (find(exchange))
        exchange_fail(exchange, 409,
                      "The context " CONTEXT_ID " stays as long as its "
                      "sandbox: restart it, or end the sandbox");
}

static void on_restarted(exchange_t *exchange, const json_t *session)
{
    if (session && json_object_size(session))
        exchange_json(exchange, 200, context_model());
    else
        exchange_fail(exchange, session ? 503 : 502,
                      session ? "The sandbox %.100s is not ready yet"
                              : "The sandbox %.100s was not found: it ended",
                      exchange->request.parameters[0]);
}

void code_context_restart(exchange_t *exchange)
{
    if (find(exchange)
        && jupyter_model_await(exchange, exchange->request.parameters[0],
                               AWAIT_READY, on_restarted))
        registry_client_ask(exchange, "session_restart_request",
                            jupyter_model_id(exchange),
                            jupyter_model_on_restart);
}
