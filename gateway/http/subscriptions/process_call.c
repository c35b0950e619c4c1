/* See process_call.h. */
#include "gateway/http/subscriptions/process_call.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/subscriptions/process_message.h"
#include "gateway/http/subscriptions/subscription.h"

#include <stdio.h>
#include <string.h>

struct process_call {
    subscriber_t subscriber;      /* first member: gets the session's events */
    exchange_t *exchange;         /* borrowed; owns this */
    subscription_t *subscription; /* borrowed; NULL once it is over */
    char *verb;                   /* owned */
    json_t *content;              /* owned; until it was sent */
    buffer_t data;
    bool has_reply;
    json_int_t process; /* that is followed; 0: none */
    const process_call_ops_t *ops;
    void *state; /* owned */
    exchange_destroy_fn *state_end;
};

/* Returns true if nothing more is due: a stream goes on after the answer has
 * begun. */
static bool is_answered(const process_call_t *self)
{
    return self->exchange->response.status && !self->ops->on_over;
}

static bool is_reply(const char *type)
{
    static const char suffix[] = "_reply";
    size_t size = strlen(type);

    return size >= sizeof suffix
           && strcmp(type + size - (sizeof suffix - 1), suffix) == 0;
}

/* Returns the call whose first member the subscriber is. */
static process_call_t *call_of(subscriber_t *subscriber)
{
    return (process_call_t *) subscriber;
}

static void send_message(process_call_t *self, const char *verb,
                         json_t *content, bytes_t data)
{
    cleanup_free char *name = mem_format("%s_request", verb);
    fault_t fault;

    if (process_message_send(self->subscription, &self->subscriber, name,
                             content, data, &fault)
        < 0)
        exchange_fail(self->exchange, 503, "%s", fault.text);
}

static void send_request(process_call_t *self)
{
    if (!self->content)
        return;
    send_message(self, self->verb, take_ptr(self->content),
                 buffer_bytes(&self->data));
    buffer_reset(&self->data);
}

void process_call_ask(process_call_t *self, const char *verb, json_t *content,
                      bytes_t data)
{
    if (self->subscription)
        send_message(self, verb, content, data);
    else
        json_decref(content);
}

static void on_hello(subscriber_t *subscriber, bool is_first)
{
    (void) is_first;
    send_request(call_of(subscriber));
}

static void on_event(subscriber_t *subscriber, const frontend_event_t *event)
{
    process_call_t *self = call_of(subscriber);
    exchange_t *exchange = self->exchange;
    cleanup_process_message process_message_t message = {0};

    if (is_answered(self) || !process_message_read(event, &message))
        return;
    if (is_reply(message.type)) {
        self->has_reply = true;
        self->ops->on_reply(exchange, self, message.content);
    } else if (!self->has_reply) {
        return;
    } else if (message.is_output) {
        self->ops->on_output(exchange, self, message.content, message.output);
    } else if (strcmp(message.type, "process_ended") == 0) {
        self->ops->on_end(exchange, self, message.content);
    }
}

static void on_over(subscriber_t *subscriber, int status, const char *text)
{
    process_call_t *self = call_of(subscriber);

    (void) status;
    if (self->ops->on_over)
        self->ops->on_over(self->exchange, self, text);
    exchange_fail(self->exchange, 503, "%.200s", text);
}

static void on_tick(subscriber_t *subscriber, int64_t now)
{
    process_call_t *self = call_of(subscriber);

    if (self->ops->on_tick && self->has_reply && !is_answered(self))
        self->ops->on_tick(self->exchange, self, now);
}

static void on_detach(subscriber_t *subscriber)
{
    process_call_t *self = call_of(subscriber);

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

/* Has the session forget a client that followed. */
static void leave(process_call_t *self)
{
    fault_t ignored;

    if (self->process)
        (void) process_message_send(
            self->subscription, &self->subscriber, "leave_request",
            json_pack("{s:I}", "process", self->process), (bytes_t){0},
            &ignored);
}

static void destroy(void **self_p)
{
    process_call_t *self = *self_p;

    if (self->subscription) {
        leave(self);
        subscription_remove(self->subscription, &self->subscriber);
    }
    if (self->state)
        self->state_end(&self->state);
    json_decref(self->content);
    buffer_reset(&self->data);
    free(self->verb);
    free(self);
    *self_p = NULL;
}

void process_call_begin(exchange_t *exchange, const char *session,
                        const process_call_plan_t *plan)
{
    process_call_t *self = mem_new(sizeof *self);
    fault_t fault;

    self->exchange = exchange;
    self->verb = mem_text(plan->verb);
    self->content = plan->content;
    buffer_append(&self->data, plan->data.bytes, plan->data.size);
    self->ops = plan->ops;
    self->state = plan->state;
    self->state_end = plan->state_end;
    self->subscriber.ops = &subscriber_ops;
    snprintf(self->subscriber.name, sizeof self->subscriber.name,
             "%.40s/process.%llu", exchange->who,
             (unsigned long long) ++exchange->http->counter);
    exchange_keep(exchange, self, destroy);
    self->subscription = subscription_open(exchange->http, session, &fault);
    if (!self->subscription) {
        exchange_fail(exchange, 503, "%s", fault.text);
        return;
    }
    subscription_add(self->subscription, &self->subscriber);
    if (self->subscription->is_greeted)
        send_request(self);
}

void *process_call_state(process_call_t *self)
{
    return self->state;
}

void process_call_taken(process_call_t *self, json_int_t process,
                        json_int_t offset)
{
    fault_t ignored;

    self->process = process;
    if (self->subscription)
        (void) process_message_send(
            self->subscription, &self->subscriber, "taken",
            json_pack("{s:I, s:I}", "process", process, "offset", offset),
            (bytes_t){0}, &ignored);
}

void process_call_fail(exchange_t *exchange, const json_t *reply)
{
    static const struct {
        const char *name;
        int status;
    } errors[] = {
        {"ProcessNotFound", 404}, {"ProcessEnded", 409},
        {"ProcessBusy", 503},     {"TooManyProcesses", 503},
        {"SessionStarting", 503}, {"SessionGone", 410},
        {"BadRequest", 400},      {"ProcessNotStarted", 400},
        {"KeyForgotten", 409},
    };
    const char *name = model_text(reply, "ename");
    int status = 500;

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, name) == 0)
            status = errors[i].status;
    if (status == 503)
        exchange_header(exchange, "Retry-After", "1");
    exchange_fail_by(exchange, status, name, "%.400s",
                     model_text(reply, "evalue"));
}

bool process_call_is_ok(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        return true;
    process_call_fail(exchange, reply);
    return false;
}
