/* See command_call.h. E2B's clients know a process by its number in the
 * sandbox, and the session by one of its own. A session whose kernel is not
 * ready, or a program that has not read its input yet, is asked again. */
#include "gateway/http/e2b/command_call.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/command_events.h"
#include "gateway/http/e2b/command_request.h"
#include "gateway/http/e2b/sandbox_target.h"

#include <string.h>

#define PATIENCE_S  60          /* the time for a client that names none */
#define INPUT_PIECE (32u << 10) /* bytes of one request */

static void clear_plan(command_plan_t *plan)
{
    json_decref(plan->content);
    plan->content = NULL;
    buffer_reset(&plan->input);
}

static void destroy(void **self_p)
{
    command_call_t *self = *self_p;

    memory_quota_wait(&self->exchange->http->memory,
                      -(int64_t) self->feed.waiting.size);
    buffer_reset(&self->feed.waiting);
    clear_plan(&self->plan);
    free(self);
    *self_p = NULL;
}

static bool is_looking(const command_call_t *self)
{
    return self->plan.pid && !self->is_found;
}

static bytes_t piece_of(const buffer_t *input)
{
    return (bytes_t){input->data,
                     input->size < INPUT_PIECE ? input->size : INPUT_PIECE};
}

static void ask(command_call_t *self)
{
    if (is_looking(self))
        process_call_ask(self->call, "list", json_object(), (bytes_t){0});
    else
        process_call_ask(self->call, self->plan.verb,
                         json_incref(self->plan.content),
                         piece_of(&self->plan.input));
}

static void on_found(command_call_t *self, const json_t *reply)
{
    const json_t *process =
        command_events_find(json_object_get(reply, "processes"), self->plan.pid,
                            self->plan.has_ended);

    if (!process) {
        exchange_fail(self->exchange, 404,
                      "There is no process %lld that runs in this sandbox",
                      (long long) self->plan.pid);
        return;
    }
    json_object_set(self->plan.content, "process",
                    json_object_get(process, "process"));
    self->is_found = true;
    ask(self);
}

/* Asks again later if that may help, or answers with the error. */
static void on_error(command_call_t *self, const json_t *reply)
{
    static const struct {
        const char *name;
        int status;
    } errors[] = {
        {"ProcessNotFound", 404},
        {"ProcessEnded", 404},
        {"ProcessBusy", 429},
        {"TooManyProcesses", 429},
    };
    const char *name = model_text(reply, "ename");
    bool may_help =
        strcmp(name, "SessionStarting") == 0
        || (self->plan.input.size && strcmp(name, "ProcessBusy") == 0);

    if (may_help && clock_monotonic_ms() < self->until_ms) {
        self->is_due = true;
        return;
    }
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(errors[i].name, name) == 0)
            exchange_fail(self->exchange, errors[i].status, "%.400s",
                          model_text(reply, "evalue"));
    if (!self->exchange->response.status)
        process_call_fail(self->exchange, reply);
}

void command_call_on_reply(exchange_t *exchange, process_call_t *call,
                           const json_t *reply)
{
    command_call_t *self = process_call_state(call);
    buffer_t *input = &self->plan.input;

    self->call = call;
    if (exchange->response.status)
        return;
    if (strcmp(model_text(reply, "status"), "ok") != 0) {
        on_error(self, reply);
        return;
    }
    if (is_looking(self)) {
        on_found(self, reply);
        return;
    }
    buffer_consume(input, piece_of(input).size);
    if (input->size)
        ask(self);
    else
        self->plan.done(exchange, self, reply);
}

void command_call_on_tick(exchange_t *exchange, process_call_t *call,
                          int64_t now_ms)
{
    command_call_t *self = process_call_state(call);

    (void) exchange;
    (void) now_ms;
    if (self->is_due) {
        self->is_due = false;
        ask(self);
    }
}

static const process_call_ops_t ops = {.on_reply = command_call_on_reply,
                                       .on_tick = command_call_on_tick};

/* Takes the plan over; NULL if there is no such sandbox, or the time is not a
 * number. */
static command_call_t *command_call_new(exchange_t *exchange,
                                        command_plan_t *plan)
{
    const char *time = exchange->request.headers[HEADER_CONNECT_TIMEOUT];
    command_call_t *self;
    double seconds;
    fault_t fault;

    if (command_request_time(time, &seconds, &fault) < 0) {
        exchange_fail(exchange, 400, "%s", fault.text);
        return NULL;
    }
    if (!sandbox_target(exchange))
        return NULL;
    self = mem_new(sizeof *self);
    self->exchange = exchange;
    self->plan = *plan;
    *plan = (command_plan_t){0};
    if (!(seconds > 0) || seconds > PATIENCE_S)
        seconds = PATIENCE_S;
    self->until_ms = clock_monotonic_ms() + (int64_t) (seconds * 1000);
    return self;
}

void command_call_begin(exchange_t *exchange, command_plan_t *plan)
{
    command_call_t *self = command_call_new(exchange, plan);

    if (!self) {
        clear_plan(plan);
        return;
    }
    const process_call_plan_t first = {
        .verb = is_looking(self) ? "list" : self->plan.verb,
        .content =
            is_looking(self) ? json_object() : json_incref(self->plan.content),
        .data = is_looking(self) ? (bytes_t){0} : piece_of(&self->plan.input),
        .ops = self->plan.ops ? self->plan.ops : &ops,
        .state = self,
        .state_end = destroy};
    process_call_begin(exchange, exchange->request.parameters[0], &first);
}
