/* Programs beside a session's kernel, as resources: started, listed, followed,
 * written to, signalled and ended. A WebSocket does the same with the messages
 * of docs/design/PROTOCOL.process.md on the channel control. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/process_output.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/executions/client_key.h"
#include "gateway/http/rpc/registry_client.h"

#include <stdlib.h>
#include <string.h>

/* A request that a route sends once the session is known. */
typedef struct {
    const char *verb;
    json_t *content; /* owned */
    buffer_t data;
    const process_call_ops_t *ops;
    void *state; /* owned, or NULL */
    exchange_destroy_fn *state_end;
} process_command_t;

static void destroy_wish(void **self_p)
{
    process_command_t *self = *self_p;

    json_decref(self->content);
    buffer_reset(&self->data);
    if (self->state)
        self->state_end(&self->state);
    free(self);
    *self_p = NULL;
}

static void on_session(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    process_call_plan_t plan;
    process_command_t *wish;

    if (!registry_client_is_ok(exchange, reply))
        return;
    if (model_is_gone(session)) {
        exchange_fail(exchange, 410, "The session is gone: %.200s",
                      model_text(session, "detail"));
        return;
    }
    wish = exchange_take(exchange);
    plan = (process_call_plan_t){.verb = wish->verb,
                                 .content = take_ptr(wish->content),
                                 .data = buffer_bytes(&wish->data),
                                 .ops = wish->ops,
                                 .state = take_ptr(wish->state),
                                 .state_end = wish->state_end};
    process_call_begin(exchange, model_text(session, "id"), &plan);
    destroy_wish((void **) &wish);
}

/* Asks the session that the path names. `content` and `state` are taken. */
static process_command_t *ask(exchange_t *exchange, const char *verb,
                              json_t *content, const process_call_ops_t *ops)
{
    process_command_t *wish = mem_new(sizeof *wish);

    wish->verb = verb;
    wish->content = content;
    wish->ops = ops;
    exchange_keep(exchange, wish, destroy_wish);
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_session);
    return wish;
}

/* Reads the number of the process in the path. */
static bool read_number(exchange_t *exchange, json_int_t *ret_number)
{
    const char *text = exchange->request.parameters[1];
    char *rest;
    long long number = strtoll(text, &rest, 10);

    if (number > 0 && !*rest && text[0] >= '1' && text[0] <= '9') {
        *ret_number = number;
        return true;
    }
    exchange_fail(exchange, 404, "There is no process %.40s", text);
    return false;
}

static json_t *of_process(json_int_t number)
{
    return json_pack("{s:I}", "process", number);
}

/* ---- requests with one answer ---- */

static void answer_list(exchange_t *exchange, process_call_t *call,
                        const json_t *reply)
{
    (void) call;
    if (process_call_is_ok(exchange, reply))
        exchange_json(exchange, 200,
                      json_incref(json_object_get(reply, "processes")));
}

static void answer_process(exchange_t *exchange, process_call_t *call,
                           const json_t *reply)
{
    (void) call;
    if (process_call_is_ok(exchange, reply))
        exchange_json(exchange,
                      exchange->request.method == METHOD_POST ? 201 : 200,
                      json_incref(json_object_get(reply, "process")));
}

static void answer_done(exchange_t *exchange, process_call_t *call,
                        const json_t *reply)
{
    (void) call;
    if (process_call_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

static const process_call_ops_t list_ops = {.on_reply = answer_list};
static const process_call_ops_t show_ops = {.on_reply = answer_process};
static const process_call_ops_t done_ops = {.on_reply = answer_done};

static void list(exchange_t *exchange)
{
    ask(exchange, "list", json_object(), &list_ops);
}

static void show(exchange_t *exchange)
{
    json_int_t number;

    if (read_number(exchange, &number))
        ask(exchange, "show", of_process(number), &show_ops);
}

/* Asks with the body. The rest of it goes to the session as it came, which
 * checks it; a key is the client's own. */
static void ask_with_body(exchange_t *exchange, const char *verb)
{
    json_int_t number;
    json_t *body = NULL;

    if (!read_number(exchange, &number)
        || !exchange_read_object(exchange, &body))
        return;
    json_object_set_new(body, "process", json_integer(number));
    client_key_bind(exchange, body);
    ask(exchange, verb, body, &done_ops);
}

static void stop(exchange_t *exchange)
{
    json_int_t number;

    if (read_number(exchange, &number))
        ask(exchange, "stop", of_process(number), &done_ops);
}

static void send_signal(exchange_t *exchange)
{
    ask_with_body(exchange, "signal");
}

static void resize(exchange_t *exchange)
{
    ask_with_body(exchange, "resize");
}

/* Sends input: the body is the input, or an object with `text` and `end`. */
static void send_input(exchange_t *exchange)
{
    const char *type = exchange->request.headers[HEADER_CONTENT_TYPE];
    json_int_t number;
    process_command_t *wish;

    if (!type || strncmp(type, "application/octet-stream", 24) != 0) {
        ask_with_body(exchange, "input");
        return;
    }
    if (!read_number(exchange, &number))
        return;
    wish = ask(exchange, "input", of_process(number), &done_ops);
    buffer_append(&wish->data, exchange->request.body.data,
                  exchange->request.body.size);
}

/* ---- output ---- */

static void read_output(exchange_t *exchange)
{
    json_int_t number;
    process_output_t *state;
    json_t *content;
    process_command_t *wish;

    if (!read_number(exchange, &number)
        || !(state = process_output_new(exchange, false)))
        return;
    content = of_process(number);
    json_object_set_new(content, "from",
                        json_integer(process_output_from(state)));
    wish = ask(exchange, "attach", content, &process_output_ops);
    wish->state = state;
    wish->state_end = process_output_destroy;
}

/* ---- start ---- */

static void start(exchange_t *exchange)
{
    const char *waits = exchange_argument(exchange, "wait");
    json_t *body = NULL;
    process_output_t *state;
    process_command_t *wish;

    if (!exchange_read_object(exchange, &body))
        return;
    json_object_del(body, "follow");
    client_key_bind(exchange, body);
    if (!waits) {
        ask(exchange, "start", body, &show_ops);
        return;
    }
    if (!(state = process_output_new(exchange, true))) {
        json_decref(body);
        return;
    }
    json_object_set_new(body, "follow", json_true());
    wish = ask(exchange, "start", body, &process_output_ops);
    wish->state = state;
    wish->state_end = process_output_destroy;
}

const route_t process_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/processes", SCOPE_OBSERVE, list},
    {METHOD_POST, "/hearth/sessions/{}/processes", SCOPE_EXECUTE, start},
    {METHOD_GET, "/hearth/sessions/{}/processes/{}", SCOPE_OBSERVE, show},
    {METHOD_DELETE, "/hearth/sessions/{}/processes/{}", SCOPE_EXECUTE, stop},
    {METHOD_GET, "/hearth/sessions/{}/processes/{}/output", SCOPE_OBSERVE,
     read_output},
    {METHOD_POST, "/hearth/sessions/{}/processes/{}/input", SCOPE_EXECUTE,
     send_input},
    {METHOD_POST, "/hearth/sessions/{}/processes/{}/signal", SCOPE_EXECUTE,
     send_signal},
    {METHOD_POST, "/hearth/sessions/{}/processes/{}/resize", SCOPE_EXECUTE,
     resize},
    {0},
};
