/* The procedures of E2B's service of processes that have one answer. Input that
 * comes as a stream is passed on when all of it has come. */
#include "gateway/http/e2b/command_procedures.h"

#include "gateway/http/e2b/command_call.h"
#include "gateway/http/e2b/command_events.h"
#include "gateway/http/e2b/command_request.h"
#include "gateway/http/e2b/connect_frame.h"
#include "gateway/http/e2b/e2b_door.h"

/* Reads the body and the process that it names. */
static bool read_body(exchange_t *exchange, json_t **ret_body,
                      json_int_t *ret_pid)
{
    json_t *body = NULL;
    fault_t fault;

    if (!e2b_door_is_json(exchange) || !exchange_read_object(exchange, &body))
        return false;
    if (command_request_pid(body, ret_pid, &fault) < 0) {
        json_decref(body);
        exchange_fail(exchange, 400, "%s", fault.text);
        return false;
    }
    *ret_body = body;
    return true;
}

static void answer_list(exchange_t *exchange, command_call_t *call,
                        const json_t *reply)
{
    (void) call;
    exchange_json(exchange, 200,
                  command_events_list(json_object_get(reply, "processes")));
}

void command_list(exchange_t *exchange)
{
    command_plan_t plan = {
        .verb = "list", .content = json_object(), .done = answer_list};

    if (e2b_door_is_json(exchange))
        command_call_begin(exchange, &plan);
    json_decref(plan.content);
}

static void answer_done(exchange_t *exchange, command_call_t *call,
                        const json_t *reply)
{
    (void) call;
    (void) reply;
    exchange_json(exchange, 200, json_object());
}

void command_send_signal(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    command_plan_t plan = {.verb = "signal", .done = answer_done};
    const char *name;
    fault_t fault;

    if (!read_body(exchange, &body, &plan.pid))
        return;
    if (command_request_signal(body, &name, &fault) < 0) {
        exchange_fail(exchange, 400, "%s", fault.text);
        return;
    }
    plan.content = json_pack("{s:s}", "signal", name);
    command_call_begin(exchange, &plan);
}

void command_update(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    command_plan_t plan = {.verb = "resize", .done = answer_done};
    fault_t fault;

    if (!read_body(exchange, &body, &plan.pid))
        return;
    if (command_request_size(body, &plan.content, &fault) < 0)
        exchange_fail(exchange, 400, "%s", fault.text);
    else
        command_call_begin(exchange, &plan);
}

void command_close_input(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    command_plan_t plan = {.verb = "input", .done = answer_done};

    if (!read_body(exchange, &body, &plan.pid))
        return;
    plan.content = json_pack("{s:b}", "end", 1);
    command_call_begin(exchange, &plan);
}

void command_send_input(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    command_plan_t plan = {.verb = "input", .done = answer_done};
    fault_t fault;

    if (!read_body(exchange, &body, &plan.pid))
        return;
    if (command_request_input(body, &plan.input, &fault) < 0) {
        buffer_reset(&plan.input);
        exchange_fail(exchange, 400, "%s", fault.text);
        return;
    }
    plan.content = json_object();
    command_call_begin(exchange, &plan);
}

/* --- Input as a stream --- */

static void answer_stream(exchange_t *exchange, command_call_t *call,
                          const json_t *reply)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) call;
    (void) reply;
    connect_frame_write(json_object(), &out);
    connect_frame_write_end(NULL, NULL, &out);
    exchange_bytes(exchange, 200, CONNECT_STREAM, out.data, out.size);
}

/* Reads the messages: the first names the process, others have input or only
 * keep the stream alive. */
static int read_messages(bytes_t rest, json_int_t *ret_pid, buffer_t *input,
                         fault_t *fault)
{
    const char *next = "start";
    json_t *message;
    int r;

    *ret_pid = 0;
    while ((r = connect_frame_read(&rest, &message, fault)) > 0) {
        const json_t *event = json_object_get(message, next);
        if (!*ret_pid)
            r = command_request_pid(event, ret_pid, fault);
        else if (event)
            r = command_request_input(event, input, fault);
        json_decref(message);
        if (r < 0)
            return r;
        next = "data";
    }
    if (r == 0 && !*ret_pid)
        r = command_request_pid(NULL, ret_pid, fault);
    return r;
}

void command_stream_input(exchange_t *exchange)
{
    command_plan_t plan = {.verb = "input", .done = answer_stream};
    fault_t fault;

    if (!e2b_door_is_stream(exchange))
        return;
    if (read_messages(buffer_bytes(&exchange->request.body), &plan.pid,
                      &plan.input, &fault)
        < 0) {
        buffer_reset(&plan.input);
        exchange_fail(exchange, 400, "%s", fault.text);
        return;
    }
    plan.content = json_object();
    command_call_begin(exchange, &plan);
}
