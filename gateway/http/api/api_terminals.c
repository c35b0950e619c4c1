/* Jupyter's terminals: each is a shell beside the kernel of a session.
 * gateway/http/terminals/terminal_socket.c has their WebSockets. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/api/terminal_choice.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/process_call.h"
#include "gateway/http/terminals/terminals.h"

#include <errno.h>
#include <string.h>

#define STOP_GRACE_MS 1000 /* after SIGHUP: a shell ignores SIGTERM */

/* Bash, if the sandbox has it. */
static const char shell[] =
    "command -v bash >/dev/null && exec bash -i; exec sh -i";

static web_terminal_t *find(exchange_t *exchange)
{
    const char *name = exchange->request.parameters[0];
    web_terminal_t *terminal = terminals_find(exchange->http, name);

    if (!terminal)
        exchange_fail(exchange, 404, "Terminal not found: %.64s", name);
    return terminal;
}

static void list(exchange_t *exchange)
{
    exchange_json(exchange, 200, terminals_list(exchange->http));
}

static void show(exchange_t *exchange)
{
    const web_terminal_t *terminal = find(exchange);

    if (terminal)
        exchange_json(exchange, 200, web_terminal_describe(terminal));
}

/* ---- making one ---- */

/* A request for a terminal, kept until its program runs. */
typedef struct {
    json_t *body;  /* owned */
    char *session; /* owned; once it is chosen */
} making_t;

static void destroy_making(void **self_p)
{
    making_t *self = *self_p;

    json_decref(self->body);
    free(self->session);
    free(self);
    *self_p = NULL;
}

static void on_started(exchange_t *exchange, process_call_t *call,
                       const json_t *reply)
{
    const making_t *self = process_call_state(call);
    const char *name = json_string_value(json_object_get(self->body, "name"));
    const json_t *process = json_object_get(reply, "process");

    if (!process_call_is_ok(exchange, reply))
        return;
    const web_terminal_place_t place = {
        name && !terminals_find(exchange->http, name) ? name : NULL,
        self->session, json_integer_value(json_object_get(process, "process")),
        exchange->who};
    exchange_json(exchange, 200,
                  web_terminal_describe(terminals_add(exchange->http, &place)));
}

static const process_call_ops_t start_ops = {.on_reply = on_started};

static void on_sessions(exchange_t *exchange, const json_t *reply)
{
    making_t *self;
    terminal_choice_t choice;
    process_call_plan_t plan;
    fault_t fault;

    if (!registry_client_is_ok(exchange, reply))
        return;
    self = exchange_take(exchange);
    const terminal_wish_t wish = {self->body, exchange->http->kept.sessions,
                                  json_object_get(reply, "sessions")};
    if (terminal_choice_make(&wish, &choice, &fault) < 0) {
        exchange_fail(exchange, fault.code == ENOENT ? 404 : 409, "%s",
                      fault.text);
        exchange_keep(exchange, self, destroy_making);
        return;
    }
    self->session = mem_text(choice.session);
    plan = (process_call_plan_t){
        .verb = "start",
        .content = json_pack("{s:[s, s, s], s:b, s:s*}", "argv", "sh", "-c",
                             shell, "terminal", 1, "cwd", choice.folder),
        .ops = &start_ops,
        .state = self,
        .state_end = destroy_making};
    process_call_begin(exchange, self->session, &plan);
}

static void make(exchange_t *exchange)
{
    static const char *const texts[] = {"name", "cwd", "session", NULL};
    json_t *body = NULL;
    const char *name;
    making_t *self;

    if (!exchange_read_object(exchange, &body))
        return;
    self = mem_new(sizeof *self);
    self->body = body;
    exchange_keep(exchange, self, destroy_making);
    if (!jupyter_model_are_texts(exchange, body, texts))
        return;
    name = json_string_value(json_object_get(body, "name"));
    if (name && !terminals_is_name(name))
        exchange_fail(exchange, 400,
                      "A terminal's name has at most %d letters, digits, _ and "
                      "-",
                      WEB_TERMINAL_NAME_MAX);
    else if (name && terminals_find(exchange->http, name))
        exchange_json(
            exchange, 200,
            web_terminal_describe(terminals_find(exchange->http, name)));
    else
        registry_client_ask(exchange, "session_list_request", json_object(),
                            on_sessions);
}

/* ---- ending one ---- */

static void on_stopped(exchange_t *exchange, process_call_t *call,
                       const json_t *reply)
{
    web_terminal_t *terminal =
        terminals_find(exchange->http, exchange->request.parameters[0]);

    (void) call;
    if (strcmp(model_text(reply, "status"), "ok") != 0
        && strcmp(model_text(reply, "ename"), "ProcessEnded") != 0
        && strcmp(model_text(reply, "ename"), "ProcessNotFound") != 0) {
        process_call_fail(exchange, reply);
        return;
    }
    if (terminal)
        web_terminal_end(terminal);
    exchange_empty(exchange, 204);
}

static const process_call_ops_t stop_ops = {.on_reply = on_stopped};

static void end(exchange_t *exchange)
{
    web_terminal_t *terminal = find(exchange);
    web_terminal_place_t place;
    process_call_plan_t plan = {.verb = "stop", .ops = &stop_ops};

    if (!terminal)
        return;
    place = web_terminal_place(terminal);
    web_terminal_signal(terminal, "HUP");
    plan.content = json_pack("{s:I, s:i}", "process", place.process, "grace_ms",
                             STOP_GRACE_MS);
    process_call_begin(exchange, place.session, &plan);
}

const route_t terminal_routes[] = {
    {METHOD_GET, "/api/terminals", SCOPE_OBSERVE, list},
    {METHOD_POST, "/api/terminals", SCOPE_EXECUTE, make},
    {METHOD_GET, "/api/terminals/{}", SCOPE_OBSERVE, show},
    {METHOD_DELETE, "/api/terminals/{}", SCOPE_EXECUTE, end},
    {METHOD_GET, ROUTES_TERMINAL, SCOPE_OBSERVE, exchange_refuse_plain},
    {0},
};
