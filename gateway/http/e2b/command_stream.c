/* Commands and terminals of E2B's clients as streams: what a process writes
 * goes to the client as it comes. The session sends no more than the client
 * takes. The process goes on when its client leaves, and another stream gets
 * what the session has kept of its output. */
#include "gateway/http/e2b/command_stream.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/command_call.h"
#include "gateway/http/e2b/command_events.h"
#include "gateway/http/e2b/command_request.h"
#include "gateway/http/e2b/connect_frame.h"
#include "gateway/http/e2b/e2b_door.h"
#include "gateway/http/e2b/sandbox.h"
#include "gateway/http/e2b/sandbox_target.h"

#include <string.h>

#define KEEPALIVE_MS 15000 /* the session forgets a silent client later */

static void note(command_call_t *self, size_t size_before)
{
    command_feed_t *feed = &self->feed;

    memory_quota_wait(&self->exchange->http->memory,
                      (int64_t) (feed->waiting.size - size_before));
    exchange_wake(self->exchange);
}

/* --- The stream --- */

static int next_piece(void *state, buffer_t *out)
{
    command_call_t *self = state;
    command_feed_t *feed = &self->feed;
    int64_t now = clock_monotonic_ms();

    if (feed->waiting.size) {
        memory_quota_wait(&self->exchange->http->memory,
                          -(int64_t) feed->waiting.size);
        buffer_append(out, feed->waiting.data, feed->waiting.size);
        buffer_reset(&feed->waiting);
    } else if (!feed->is_over && now >= feed->keepalive) {
        command_events_keep_alive(out);
    }
    if (out->size) {
        feed->keepalive = now + KEEPALIVE_MS;
        process_call_taken(self->call, feed->number, feed->next);
    }
    return feed->is_over ? 0 : 1;
}

/* Frees nothing: the exchange's task is the owner of the state. */
static void let_go(void **state_p)
{
    *state_p = NULL;
}

static void begin_stream(exchange_t *exchange, command_call_t *self,
                         const json_t *reply)
{
    const json_t *process = json_object_get(reply, "process");
    command_feed_t *feed = &self->feed;

    feed->number = json_integer_value(json_object_get(process, "process"));
    feed->is_terminal = json_is_true(json_object_get(process, "terminal"));
    command_events_start(process, &feed->waiting);
    exchange_header(exchange, "Cache-Control", "no-store");
    exchange_header(exchange, "X-Accel-Buffering", "no");
    exchange_stream(
        exchange, 200, CONNECT_STREAM,
        &(exchange_source_t){.next = next_piece, .state = self, .end = let_go});
    note(self, 0);
}

static void on_output(exchange_t *exchange, process_call_t *call,
                      const json_t *content, bytes_t bytes)
{
    command_call_t *self = process_call_state(call);
    command_feed_t *feed = &self->feed;
    bool is_error = strcmp(model_text(content, "stream"), "stderr") == 0;
    size_t before = feed->waiting.size;

    (void) exchange;
    if (!feed->number || feed->is_over)
        return;
    command_events_output(feed->is_terminal ? "pty"
                          : is_error        ? "stderr"
                                            : "stdout",
                          bytes, &feed->waiting);
    feed->next = json_integer_value(json_object_get(content, "offset"))
                 + (json_int_t) bytes.size;
    note(self, before);
}

static void on_end(exchange_t *exchange, process_call_t *call,
                   const json_t *process)
{
    command_call_t *self = process_call_state(call);
    size_t before = self->feed.waiting.size;

    (void) exchange;
    if (!self->feed.number || self->feed.is_over)
        return;
    command_events_end(process, &self->feed.waiting);
    self->feed.is_over = true;
    note(self, before);
}

static void on_over(exchange_t *exchange, process_call_t *call,
                    const char *text)
{
    command_call_t *self = process_call_state(call);
    size_t before = self->feed.waiting.size;

    (void) exchange;
    if (!self->feed.number || self->feed.is_over)
        return;
    connect_frame_write_end("unavailable", text, &self->feed.waiting);
    self->feed.is_over = true;
    note(self, before);
}

static void on_tick(exchange_t *exchange, process_call_t *call, int64_t now_ms)
{
    const command_call_t *self = process_call_state(call);

    command_call_on_tick(exchange, call, now_ms);
    if (self->feed.number && now_ms >= self->feed.keepalive)
        exchange_wake(exchange);
}

static const process_call_ops_t stream_ops = {
    .on_reply = command_call_on_reply,
    .on_output = on_output,
    .on_end = on_end,
    .on_tick = on_tick,
    .on_over = on_over,
};

/* --- Requests --- */

/* Reads the one message of the request. */
static bool read_message(exchange_t *exchange, json_t **ret_body)
{
    bytes_t rest = buffer_bytes(&exchange->request.body);
    fault_t fault;
    int r;

    if (!e2b_door_is_stream(exchange))
        return false;
    r = connect_frame_read(&rest, ret_body, &fault);
    if (r < 0)
        exchange_fail(exchange, 400, "%s", fault.text);
    else if (r == 0 || rest.size)
        exchange_fail(exchange, 400,
                      "The body must be one message of a stream");
    return !exchange->response.status;
}

void command_start(exchange_t *exchange)
{
    const char *time = exchange->request.headers[HEADER_CONNECT_TIMEOUT];
    command_plan_t plan = {
        .verb = "start", .done = begin_stream, .ops = &stream_ops};
    json_auto_t *body = NULL;
    command_start_t start = {0};
    fault_t fault;
    const char *id;

    if (!read_message(exchange, &body) || !(id = sandbox_target(exchange)))
        return;
    start.variables = json_object_get(sandbox_find(exchange->http, id), "envs");
    if (command_request_time(time, &start.seconds, &fault) < 0
        || command_request_start(body, &start, &plan.content, &fault) < 0)
        exchange_fail(exchange, 400, "%s", fault.text);
    else
        command_call_begin(exchange, &plan);
}

void command_connect(exchange_t *exchange)
{
    command_plan_t plan = {.verb = "attach",
                           .has_ended = true,
                           .done = begin_stream,
                           .ops = &stream_ops};
    json_auto_t *body = NULL;
    fault_t fault;

    if (!read_message(exchange, &body))
        return;
    if (command_request_pid(body, &plan.pid, &fault) < 0) {
        exchange_fail(exchange, 400, "%s", fault.text);
        return;
    }
    plan.content = json_pack("{s:i}", "from", 0);
    command_call_begin(exchange, &plan);
}
