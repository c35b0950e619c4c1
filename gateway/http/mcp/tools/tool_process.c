/* See tool_process.h. A program goes on when its call is answered: the model
 * then asks for its output, or ends it. */
#include "gateway/http/mcp/tools/tool_process.h"

#include "base/clock.h"
#include "base/signal_name.h"
#include "gateway/http/core/model.h"
#include "gateway/http/core/wakeup.h"
#include "gateway/http/mcp/results/notice_line.h"
#include "gateway/http/mcp/results/output_wait.h"
#include "gateway/http/mcp/results/process_lines.h"
#include "gateway/http/mcp/results/process_text.h"
#include "gateway/http/mcp/results/structured.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tools/call_key.h"
#include "gateway/http/mcp/tools/process_arguments.h"
#include "gateway/http/mcp/tools/tool_session.h"
#include "gateway/http/subscriptions/process_message.h"
#include "notebooks/modelview/short_id.h"

#include <string.h>

#define SECONDS_USUAL 30
#define SECONDS_QUIET 5     /* after input, if nothing else is asked for */
#define SECONDS_MAX   600   /* as of the tool wait */
#define PATIENCE_MS   30000 /* with a session that has just been taken over */

enum {
    STDOUT,
    STDERR
};

/* The request of a call. */
typedef struct {
    const char *verb;
    json_t *content; /* taken */
    output_follow_t follow;
} request_plan_t;

/* One call about a process, or about all of them. */
typedef struct {
    subscriber_t subscriber;      /* first member: gets the session's events */
    mcp_call_t *call;             /* borrowed: its owner */
    subscription_t *subscription; /* borrowed; NULL once it is over */
    const char *verb;             /* of its request */
    json_t *content;              /* owned; of its request */
    bool is_sent;                 /* the request is */
    json_t *process;              /* owned; as it was seen last, or NULL */
    bool follows;                 /* its output is asked for */
    output_wait_t wait;           /* until when it is followed */
    wakeup_t wakeup;              /* when the answer is due */
    int64_t begun_ms, noticed_ms; /* monotonic; the call, the last notice */
    process_text_t texts[2];      /* its output, and what it wrote to stderr */
    int last;                     /* of these, that had output last */
} tool_process_t;

/* Returns the process whose first member the subscriber is. */
static tool_process_t *process_of(subscriber_t *subscriber)
{
    return (tool_process_t *) subscriber;
}

/* Sends a message about the process that is followed; `content` is taken. */
static void send_message(tool_process_t *self, const char *verb,
                         json_t *content)
{
    fault_t ignored;

    json_object_set_new(content, "process",
                        json_integer(process_lines_number(self->process)));
    if (self->subscription)
        (void) process_message_send(self->subscription, &self->subscriber, verb,
                                    content, (bytes_t){0}, &ignored);
    else
        json_decref(content);
}

static void destroy(void **self_p)
{
    tool_process_t *self = *self_p;

    if (!self)
        return;
    wakeup_cancel(&self->wakeup);
    if (self->subscription && self->process && self->follows)
        send_message(self, "leave_request", json_object());
    if (self->subscription)
        subscription_remove(self->subscription, &self->subscriber);
    json_decref(self->content);
    json_decref(self->process);
    process_text_clear(&self->texts[STDOUT]);
    process_text_clear(&self->texts[STDERR]);
    free(self);
    *self_p = NULL;
}

/* ---- answers ---- */

/* Writes what came of a stream after the lines that there are. */
static void write_stream(buffer_t *out, const char *heading,
                         const buffer_t *text)
{
    if (!text->size)
        return;
    if (out->data[out->size - 1] != '\n')
        buffer_text(out, "\n");
    buffer_text(out, heading);
    buffer_append(out, text->data, text->size);
}

/* Answers with the state of the process and what it wrote. Of bytes that are
 * lost it is not known to which stream they belonged: stdout has them. */
static void answer(tool_process_t *self)
{
    const json_t *code = json_object_get(self->process, "exit_code");
    bool is_error = process_lines_is_ended(self->process)
                    && !(code && json_integer_value(code) == 0);
    cleanup_buffer buffer_t head = BUFFER_EMPTY;
    cleanup_buffer buffer_t out = BUFFER_EMPTY, err = BUFFER_EMPTY;
    long long number = process_lines_number(self->process);
    char id[SHORT_ID_SIZE];

    process_lines_write_head(self->process,
                             short_id_write(self->subscription->id, id), &head);
    if (process_lines_is_ended(self->process)
        && self->wait.known > self->wait.next)
        process_text_skip(&self->texts[STDOUT],
                          (uint64_t) (self->wait.known - self->wait.next));
    process_text_write(&self->texts[STDOUT], number, &out);
    process_text_write(&self->texts[STDERR], number, &err);
    write_stream(&head, "", &out);
    write_stream(&head, "stderr:\n", &err);
    tool_result_process(self->call, is_error, &head,
                        structured_process(self->process, &out, &err));
}

static void answer_list(mcp_call_t *call, const json_t *processes)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    process_lines_write_list(processes, &out);
    tool_result_bytes(call, false, out.data, out.size);
}

/* ---- what the session says ---- */

static void take_process(tool_process_t *self, const json_t *process)
{
    json_decref(self->process);
    self->process = json_deep_copy(process);
    self->wait.known =
        json_integer_value(json_object_get(process, "stdout_bytes"))
        + json_integer_value(json_object_get(process, "stderr_bytes"));
}

/* Answers when all output has come that there was. A process that has ended
 * reports its end after that. A wakeup may come after the subscription is over,
 * whose name the answer needs. */
static void answer_if_due(void *arg)
{
    tool_process_t *self = arg;
    int64_t due = output_wait_due(&self->wait);
    int64_t now = clock_monotonic_ms();

    if (self->call->is_answered || !self->subscription || due < 0
        || process_lines_is_ended(self->process))
        return;
    if (now >= due)
        answer(self);
    else
        wakeup_set(&self->wakeup, self->call->exchange, due - now,
                   answer_if_due, self);
}

static void send_taken(tool_process_t *self)
{
    send_message(self, "taken", json_pack("{s:I}", "offset", self->wait.next));
}

static void send_request(tool_process_t *self)
{
    cleanup_free char *verb = mem_format("%s_request", self->verb);
    fault_t fault;

    if (self->is_sent)
        return;
    self->is_sent = true;
    if (process_message_send(self->subscription, &self->subscriber, verb,
                             json_deep_copy(self->content), (bytes_t){0},
                             &fault)
        < 0)
        tool_result_text(self->call, true, "%s", fault.text);
}

/* Returns true if the input comes too early for the session, which has just
 * been taken over. It is sent again with the next tick. */
static bool is_too_early(tool_process_t *self, const json_t *reply)
{
    if (strcmp(self->verb, "input") != 0
        || strcmp(model_text(reply, "ename"), "SessionStarting") != 0
        || clock_monotonic_ms() - self->begun_ms >= PATIENCE_MS)
        return false;
    self->is_sent = false;
    return true;
}

/* Follows the process from the output that came after the input. */
static void follow_after_input(tool_process_t *self, json_int_t output)
{
    json_t *content = self->content;

    self->content =
        json_pack("{s:O,s:I}", "process", json_object_get(content, "process"),
                  "from", output);
    self->verb = "attach";
    self->follows = true;
    self->wait.next = output;
    json_decref(content);
    self->is_sent = false;
    send_request(self);
}

static void on_reply(tool_process_t *self, const json_t *reply)
{
    json_int_t oldest = json_integer_value(json_object_get(reply, "offset"));

    if (strcmp(model_text(reply, "status"), "ok") != 0) {
        if (!is_too_early(self, reply))
            tool_result_text(self->call, true, "%.400s",
                             model_text(reply, "evalue"));
    } else if (strcmp(self->verb, "input") == 0) {
        follow_after_input(
            self, json_integer_value(json_object_get(reply, "output")));
    } else if (self->follows) {
        take_process(self, json_object_get(reply, "process"));
        if (self->wait.next < oldest) {
            process_text_skip(&self->texts[STDOUT],
                              (uint64_t) (oldest - self->wait.next));
            self->wait.next = oldest;
        }
        send_taken(self);
        answer_if_due(self);
    } else if (json_object_get(reply, "processes")) {
        answer_list(self->call, json_object_get(reply, "processes"));
    } else {
        tool_result_text(self->call, false,
                         strcmp(self->verb, "signal") == 0
                             ? "the signal was sent"
                             : "it was asked to end");
    }
}

static void take_output(tool_process_t *self, const json_t *content,
                        bytes_t bytes)
{
    self->last =
        strcmp(model_text(content, "stream"), "stderr") == 0 ? STDERR : STDOUT;
    process_text_add(&self->texts[self->last], bytes.bytes, bytes.size);
    self->wait.has_output = true;
    self->wait.heard_ms = clock_monotonic_ms();
    self->wait.next = json_integer_value(json_object_get(content, "offset"))
                      + (json_int_t) bytes.size;
    send_taken(self);
    answer_if_due(self);
}

static void on_event(subscriber_t *subscriber, const frontend_event_t *event)
{
    tool_process_t *self = process_of(subscriber);
    cleanup_process_message process_message_t message = {0};

    if (self->call->is_answered || !process_message_read(event, &message))
        return;
    if (message.is_output) {
        take_output(self, message.content, message.output);
    } else if (strcmp(message.type, "process_ended") == 0) {
        take_process(self, message.content);
        answer(self);
    } else if (strncmp(message.type, "process_", 8) == 0
               && strcmp(message.type, "process_input_taken") != 0) {
        on_reply(self, message.content);
    }
}

static void on_hello(subscriber_t *subscriber, bool is_first)
{
    (void) is_first;
    send_request(process_of(subscriber));
}

static void on_over(subscriber_t *subscriber, int status, const char *text)
{
    (void) status;
    tool_result_text(process_of(subscriber)->call, true, "%.200s", text);
}

/* Says now and then how long it has been, with the last line that it wrote. */
static void notice(tool_process_t *self, int64_t now)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_free char *shown = NULL;
    bytes_t line;

    if (now - self->noticed_ms < CALL_PROGRESS_MS
        || !call_progress_token(self->call))
        return;
    self->noticed_ms = now;
    process_text_last(&self->texts[self->last], &text);
    line = notice_line(buffer_bytes(&text));
    if (line.size)
        shown = mem_copy(line.bytes, line.size);
    call_progress(self->call, (double) (now - self->begun_ms) / 1000, -1,
                  shown);
}

static void on_tick(subscriber_t *subscriber, int64_t now)
{
    tool_process_t *self = process_of(subscriber);

    if (self->call->is_answered)
        return;
    if (self->subscription && self->subscription->is_greeted)
        send_request(self);
    if (!self->process || !self->follows)
        return;
    send_taken(self); /* shows the session that this client is there */
    /* The wakeup has answered by then, unless output that there was, or the
     * report of an end, has not come. */
    if (now >= self->wait.until_ms)
        answer(self);
    else
        notice(self, now);
}

static void on_detach(subscriber_t *subscriber)
{
    tool_process_t *self = process_of(subscriber);

    subscription_remove(self->subscription, subscriber);
    self->subscription = NULL;
}

static const subscriber_ops_t subscriber_ops = {
    .hello = on_hello,
    .event = on_event,
    .end = on_over,
    .tick = on_tick,
    .detach = on_detach,
};

/* ---- actions ---- */

/* Reads how long the call waits. Returns false if it was answered, because that
 * is too long. */
static bool read_wait(mcp_call_t *call, output_follow_t follow, int64_t *ret_ms)
{
    const json_t *value = json_object_get(call->arguments, "seconds");
    double seconds = value                    ? json_number_value(value)
                     : follow == FOLLOW_QUIET ? SECONDS_QUIET
                                              : SECONDS_USUAL;

    if (seconds >= 0 && seconds <= SECONDS_MAX) {
        *ret_ms = (int64_t) (seconds * 1000);
        return true;
    }
    tool_result_text(call, true,
                     "seconds must be 0 to %d; a command goes on after them, "
                     "and output waits for it again",
                     SECONDS_MAX);
    return false;
}

/* Sends the request to the session of the reply. A call that follows a process
 * waits for it. */
static void begin(exchange_t *exchange, const json_t *reply,
                  const request_plan_t *plan)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = tool_session_alive(call, reply);
    tool_process_t *self;
    int64_t wait_ms = 0;
    fault_t fault;

    if (!session
        || (plan->follow != FOLLOW_NOT
            && !read_wait(call, plan->follow, &wait_ms))) {
        json_decref(plan->content);
        return;
    }
    self = mem_new(sizeof *self);
    self->call = call;
    self->verb = plan->verb;
    self->content = plan->content;
    self->wait.follow = plan->follow;
    self->follows =
        plan->follow != FOLLOW_NOT && strcmp(plan->verb, "input") != 0;
    self->begun_ms = self->noticed_ms = clock_monotonic_ms();
    self->wait.until_ms = self->begun_ms + wait_ms;
    self->subscriber.ops = &subscriber_ops;
    snprintf(self->subscriber.name, sizeof self->subscriber.name,
             "%.40s/process.%llu", exchange->who,
             (unsigned long long) ++exchange->http->counter);
    call_keep(call, self, destroy, NULL);
    self->subscription =
        subscription_open(exchange->http, model_text(session, "id"), &fault);
    if (!self->subscription) {
        tool_result_text(call, true, "%s", fault.text);
        return;
    }
    subscription_add(self->subscription, &self->subscriber);
    if (self->subscription->is_greeted)
        send_request(self);
}

/* Adds the call's key: the same call under the same key starts one program, or
 * writes once. */
static void add_key(const mcp_call_t *call, const json_t *reply,
                    json_t *content)
{
    char key[EXECUTION_ID_SIZE];

    if (!call_key(call))
        return;
    call_key_id(call, model_text(json_object_get(reply, "session"), "id"), key);
    json_object_set_new(content, "key", json_string(key));
}

void tool_process_run(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    json_t *content = NULL;
    fault_t fault;

    if (process_arguments_start(call->arguments, &content, &fault) < 0) {
        tool_result_text(call, true, "%s", fault.text);
    } else if (!call_key_check(call)) {
        json_decref(content);
    } else {
        add_key(call, reply, content);
        begin(exchange, reply, &(request_plan_t){"start", content, FOLLOW_END});
    }
}

/* Writes to a process's input. After its end a process usually ends, too. */
static void write_input(exchange_t *exchange, const json_t *reply, bool ends)
{
    mcp_call_t *call = call_of(exchange);
    json_t *content = NULL;
    fault_t fault;

    if (process_arguments_input(call->arguments, ends, &content, &fault) < 0) {
        tool_result_text(call, true, "%s", fault.text);
    } else if (!call_key_check(call)) {
        json_decref(content);
    } else {
        add_key(call, reply, content);
        begin(exchange, reply,
              &(request_plan_t){"input", content,
                                ends ? FOLLOW_END : FOLLOW_QUIET});
    }
}

void tool_process_write(exchange_t *exchange, const json_t *reply)
{
    write_input(exchange, reply, false);
}

void tool_process_close(exchange_t *exchange, const json_t *reply)
{
    write_input(exchange, reply, true);
}

void tool_process_list(exchange_t *exchange, const json_t *reply)
{
    begin(exchange, reply,
          &(request_plan_t){"list", json_object(), FOLLOW_NOT});
}

/* Does something with the process that the call names. `signal` may be NULL. */
static void with_process(exchange_t *exchange, const json_t *reply,
                         const char *verb, const char *signal,
                         output_follow_t follow)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *number = json_object_get(call->arguments, "process");

    if (!json_is_integer(number))
        tool_result_text(call, true,
                         "process is missing: its number, which run and "
                         "processes show");
    else
        begin(exchange, reply,
              &(request_plan_t){verb,
                                json_pack("{s:I,s:s*}", "process",
                                          json_integer_value(number), "signal",
                                          signal),
                                follow});
}

void tool_process_output(exchange_t *exchange, const json_t *reply)
{
    with_process(exchange, reply, "attach", NULL, FOLLOW_OUTPUT);
}

void tool_process_kill(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const char *signal =
        json_string_value(json_object_get(call->arguments, "signal"));

    if (signal && !signal_name_number(signal))
        tool_result_text(call, true,
                         "signal must be the name of a signal, such as SIGINT, "
                         "SIGTERM or SIGKILL");
    else
        with_process(exchange, reply, signal ? "signal" : "stop", signal,
                     FOLLOW_NOT);
}
