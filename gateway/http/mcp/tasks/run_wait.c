/* See run_wait.h. The session's reply wakes the call. The result comes from the
 * journal, so the answer is the same after a restart of the gateway. A client
 * that cancels or disconnects interrupts its execution, and the variables stay;
 * an execution that waits for its turn is aborted. */
#include "gateway/http/mcp/tasks/run_wait.h"

#include "base/clock.h"
#include "gateway/http/executions/executions.h"
#include "gateway/http/mcp/elicitation/call_state.h"
#include "gateway/http/mcp/elicitation/question.h"
#include "gateway/http/mcp/results/notice_line.h"
#include "gateway/http/mcp/results/run_answer.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tasks/tasks.h"
#include "gateway/http/subscriptions/subscription.h"
#include "notebooks/json/tree.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>

#define ASKED_ID_SIZE 33 /* bytes of the id of a question, with its NUL */

#define CONTENT_MAX (64u << 10) /* bytes of a message for a notice */

typedef struct {
    mcp_call_t *call; /* borrowed: its owner */
    char session[FRONTEND_ID_MAX];
    char *journal; /* owned; the session's folder */
    char run[EXECUTION_ID_SIZE];
    run_answer_t answer;       /* how it is answered */
    int64_t begun;             /* monotonic ms */
    int64_t until;             /* monotonic ms */
    int64_t noticed;           /* monotonic ms; of the last notice */
    buffer_t content;          /* of the last message to a stream */
    uint64_t number;           /* the run's, in the journal; 0: not known */
    bool is_cancelled;         /* as the caller says */
    bool may_be_task;          /* as the caller says */
    bool may_ask;              /* the client answers questions */
    uint64_t asked_seq;        /* the question that the client has; 0: none */
    char asked[ASKED_ID_SIZE]; /* id of the request that has asked it */
} run_wait_t;

static void destroy(void **self_p)
{
    run_wait_t *self = *self_p;

    if (!self)
        return;
    free(self->journal);
    buffer_reset(&self->content);
    free(self);
    *self_p = NULL;
}

/* Returns the execution as it is in the journal now. */
static execution_t *find_run(run_wait_t *self, executions_t **ret_runs)
{
    fault_t fault;

    *ret_runs = executions_of(self->call->exchange->http, self->session,
                              self->journal, &fault);
    return *ret_runs ? executions_find(*ret_runs, self->run) : NULL;
}

static bool is_over(const run_wait_t *self)
{
    const subscription_t *subscription =
        subscription_find(self->call->exchange->http, self->session);

    return !subscription || subscription->is_over;
}

/* Answers with how far the run is: as a task if it is in the journal, where it
 * is found from now on. */
static void answer_unfinished(run_wait_t *self, executions_t *runs,
                              const execution_t *run)
{
    json_t *task;

    if (!self->may_be_task || !run->number) {
        run_answer(self->call, self->session, runs, run, &self->answer);
        return;
    }
    task = tasks_model(self->call, self->session, runs, run);
    json_object_set_new(task, "resultType", json_string("task"));
    call_result(self->call, task);
}

/* Asks the client what the code asks: as the answer, or before it by a request
 * of a revision that has such. */
static void ask(run_wait_t *self, const execution_t *run)
{
    uint8_t random[(ASKED_ID_SIZE - 1) / 2];

    if (self->call->era == ERA_MODERN) {
        call_state_ask(self->call, self->session, run);
        return;
    }
    if (self->asked_seq == run->question_seq)
        return;
    self->asked_seq = run->question_seq;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(self->asked, sizeof self->asked, random, sizeof random);
    call_ask(self->call, self->asked, QUESTION_METHOD,
             question_params(self->call, self->session, run));
}

static bool on_response(mcp_call_t *call, const rpc_message_t *response)
{
    run_wait_t *self = call->state;
    const char *id = json_string_value(response->id);
    const json_t *result = json_object_get(response->root, "result");
    json_auto_t *declined = json_pack("{s:s}", "action", "cancel");
    executions_t *runs;
    execution_t *run;
    fault_t fault;

    if (!id || !self->asked_seq || strcmp(id, self->asked) != 0)
        return false;
    *self->asked = '\0';
    run = find_run(self, &runs);
    if (!run || !question_is_open(run) || run->question_seq != self->asked_seq)
        return true;
    /* An error, or no answer, ends the code's wait as well. */
    if (question_answer(call->exchange->http, self->session, run, result,
                        &fault)
        == -EINVAL)
        (void) question_answer(call->exchange->http, self->session, run,
                               declined, &fault);
    return true;
}

/* Answers if the run has come to an end, or the time has. */
static void check(run_wait_t *self, int64_t now)
{
    executions_t *runs;
    execution_t *run = find_run(self, &runs);

    if (!run) {
        tool_result_text(self->call, true,
                         "What became of the code cannot be read: the journal "
                         "of session %s is gone",
                         self->session);
        return;
    }
    self->number = run->number;
    bool is_asked = self->may_ask && question_is_open(run);
    bool is_done = run->state == EXECUTION_DONE
                   || run->state == EXECUTION_REFUSED
                   || (run->state == EXECUTION_ASKING && !is_asked);
    if (is_asked && !is_over(self))
        ask(self, run);
    else if (is_done || is_over(self))
        run_answer(self->call, self->session, runs, run, &self->answer);
    else if (now >= self->until)
        answer_unfinished(self, runs, run);
}

/* --- Progress --- */

/* Returns the last line of the last output, for the caller; NULL if there is
 * none. */
static char *last_line(const run_wait_t *self)
{
    json_auto_t *content =
        json_tree_load(self->content.data, self->content.size, NULL);
    const char *text = json_string_value(json_object_get(content, "text"));
    bytes_t line = notice_line(text_bytes(text ? text : ""));

    return line.size ? mem_copy(line.bytes, line.size) : NULL;
}

static void notice(run_wait_t *self, int64_t now)
{
    if (now - self->noticed < CALL_PROGRESS_MS
        || !call_progress_token(self->call))
        return;
    cleanup_free char *line = last_line(self);
    self->noticed = now;
    call_progress(self->call, (double) (now - self->begun) / 1000, -1, line);
}

/* --- Events --- */

static bool is_own_reply(const run_wait_t *self, const frontend_event_t *event)
{
    const size_t size = sizeof EXECUTION_CLIENT - 1;

    return event->channel != CHANNEL_IOPUB
           && event->client.size == size + strlen(self->run)
           && memcmp((const uint8_t *) event->client.bytes + size, self->run,
                     strlen(self->run))
                  == 0;
}

static void on_event(mcp_call_t *call, const frontend_event_t *event)
{
    run_wait_t *self = call->state;

    if (strcmp(event->session, self->session) != 0)
        return;
    if (event->what != FRONTEND_EVENT || is_own_reply(self, event)
        || !self->number) {
        check(self, clock_monotonic_ms());
    }
    if (!call->is_answered && self->number && event->what == FRONTEND_EVENT
        && event->request == self->number
        && event->content.size < CONTENT_MAX) {
        buffer_clear(&self->content);
        buffer_append(&self->content, event->content.bytes,
                      event->content.size);
    }
}

static void on_tick(mcp_call_t *call, int64_t now)
{
    run_wait_t *self = call->state;

    check(self, now);
    if (!call->is_answered)
        notice(self, now);
}

/* Cancels the execution. The request outlives the exchange; its answer is
 * dropped. */
static void on_cancel(mcp_call_t *call)
{
    run_wait_t *self = call->state;
    http_t *http = call->exchange->http;
    executions_t *runs;
    const execution_t *run = find_run(self, &runs);
    json_auto_t *asked =
        json_pack("{s:s,s:s}", "id", self->session, "msg_id", self->run);
    cleanup_free char *content = json_dumps(asked, JSON_COMPACT);
    char who[EXCHANGE_WHO_SIZE];
    fault_t fault;

    if (!self->is_cancelled || !run || run->state == EXECUTION_DONE
        || run->state == EXECUTION_REFUSED)
        return;
    frontend_call_t interrupt = {.who = exchange_who(call->exchange, who),
                                 .type = "session_interrupt_request",
                                 .content = text_bytes(content),
                                 .tag = ++http->counter};
    (void) frontend_call(http->frontend, &interrupt, &fault);
}

void run_wait_begin(mcp_call_t *call, const run_wait_start_t *start)
{
    static const call_ops_t ops = {.on_event = on_event,
                                   .on_tick = on_tick,
                                   .on_cancel = on_cancel,
                                   .on_response = on_response};
    subscription_t *subscription =
        subscription_find(call->exchange->http, start->session);
    run_wait_t *self = mem_new(sizeof *self);

    self->call = call;
    snprintf(self->session, sizeof self->session, "%s", start->session);
    snprintf(self->run, sizeof self->run, "%s", start->run);
    self->journal = mem_text(start->journal);
    self->answer.is_new = start->is_new;
    self->answer.tokens_max = start->tokens_max;
    self->is_cancelled = start->is_cancelled;
    self->may_be_task = start->may_be_task;
    self->may_ask = question_is_declared(call);
    self->begun = self->noticed = clock_monotonic_ms();
    self->until = self->begun + (int64_t) (start->seconds * 1000);
    call_keep(call, self, destroy, &ops);
    /* Keeps the session attached while the call waits. */
    if (subscription)
        subscription_follow(subscription, call->exchange);
    check(self, self->begun);
}
