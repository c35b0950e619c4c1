/* POST /execute of E2B's interpreter: runs code and streams what it shows. The
 * lines are read from the session's journal, so a slow client holds nothing up.
 * A client that goes away interrupts its code, and the variables stay. */
#include "gateway/http/e2b/execute.h"

#include "base/clock.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/code_context.h"
#include "gateway/http/e2b/run_lines.h"
#include "gateway/http/e2b/run_variables.h"
#include "gateway/http/e2b/sandbox.h"
#include "gateway/http/e2b/sandbox_target.h"
#include "gateway/http/executions/execution_request.h"
#include "notebooks/journal/follower.h"

#include <string.h>

#define PIECE_MAX    (64u << 10) /* bytes after which a piece goes out */
#define KEEPALIVE_MS 5000

typedef struct {
    exchange_t *exchange; /* borrowed: its owner */
    char session[FRONTEND_ID_MAX];
    char id[EXECUTION_ID_SIZE];   /* of the run */
    char *folder;                 /* owned; the journal's */
    uint64_t number;              /* the run's request; 0: not known yet */
    journal_follower_t *follower; /* owned */
    run_lines_t lines;
    int64_t keepalive; /* monotonic ms; when the next one is due */
} run_stream_t;

/* --- The stream --- */

/* Interrupts code whose client has gone. No client gets the answer. */
static void interrupt(const run_stream_t *self)
{
    http_t *http = self->exchange->http;
    json_auto_t *asked =
        json_pack("{s:s,s:s}", "id", self->session, "msg_id", self->id);
    cleanup_free char *content = json_dumps(asked, JSON_COMPACT);
    char who[EXCHANGE_WHO_SIZE];
    fault_t fault;

    (void) frontend_call(
        http->frontend,
        &(frontend_call_t){.who = exchange_who(self->exchange, who),
                           .type = "session_interrupt_request",
                           .content = text_bytes(content),
                           .tag = ++http->counter},
        &fault);
}

static void destroy(void **self_p)
{
    run_stream_t *self = *self_p;

    if (!self->lines.is_over)
        interrupt(self);
    journal_follower_destroy(&self->follower);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

/* Returns true if more records may come. */
static bool is_live(const run_stream_t *self)
{
    const subscription_t *subscription =
        subscription_find(self->exchange->http, self->session);

    return subscription && !subscription->is_over;
}

/* Learns the number of the run's request, and ends a run that was refused. */
static void find_run(run_stream_t *self, buffer_t *out)
{
    fault_t fault;
    executions_t *runs = executions_of(self->exchange->http, self->session,
                                       self->folder, &fault);
    const execution_t *run = runs ? executions_find(runs, self->id) : NULL;

    if (run && run->state == EXECUTION_REFUSED)
        run_lines_end(&self->lines, run->refusal, out);
    else if (run)
        self->number = run->number;
}

/* Appends the records of the run. Returns true if there may be more at once. */
static bool take_records(run_stream_t *self, buffer_t *out)
{
    subscription_t *subscription =
        subscription_find(self->exchange->http, self->session);
    const journal_source_t source = {
        .folder = self->folder,
        .key = self->exchange->http->journal_key,
        .index = subscription ? &subscription->index : NULL};
    journal_record_t record;
    fault_t fault;

    while (!self->lines.is_over && out->size < PIECE_MAX) {
        int r = journal_follower_next(self->follower, &source, &record, &fault);
        if (r < 0)
            run_lines_fail(&self->lines, "OutputLost", fault.text, out);
        if (r <= 0)
            return false;
        if (record.request == self->number)
            run_lines_add(&self->lines, &record, out);
    }
    return true;
}

static int next_piece(void *state, buffer_t *out)
{
    run_stream_t *self = state;
    /* Before reading: a record that comes meanwhile wakes the stream again. */
    bool was_live = is_live(self);
    int64_t now = clock_monotonic_ms();
    bool has_more = false;

    if (!self->number)
        find_run(self, out);
    if (self->number)
        has_more = take_records(self, out);
    if (!self->lines.is_over && !has_more && !was_live) {
        run_lines_fail(&self->lines, "UnexpectedEndOfExecution",
                       "the session ended before the code did", out);
        run_lines_end(&self->lines, NULL, out);
    }
    if (!out->size && now >= self->keepalive)
        run_lines_keep_alive(out);
    if (out->size)
        self->keepalive = now + KEEPALIVE_MS;
    return self->lines.is_over ? 0 : 1;
}

/* --- Sending --- */

/* Sends code to the session under a new id. Nothing is kept of silent code, and
 * it has no number. */
static bool send_code(exchange_t *exchange, executions_t *runs,
                      const subscription_t *subscription, const char *code,
                      bool is_silent, char ret_id[EXECUTION_ID_SIZE])
{
    json_auto_t *content =
        json_pack("{s:s,s:b,s:b,s:{},s:b,s:b}", "code", code, "silent",
                  is_silent, "store_history", !is_silent, "user_expressions",
                  "allow_stdin", 0, "stop_on_error", 0);
    fault_t fault;

    execution_request_id(ret_id);
    cleanup_message message_t *message = execution_request_message(
        ret_id,
        subscription->kernel_session ? subscription->kernel_session : "",
        "execute_request", NULL, NULL, content);
    execution_t *run = executions_add(runs, ret_id);
    execution_digest(code, run->digest);
    if (execution_request_send(exchange->http, subscription->id, run,
                               CHANNEL_SHELL, message, &fault)
        == 0)
        return true;
    executions_drop(runs, run);
    exchange_fail(exchange, 503, "%s", fault.text);
    return false;
}

/* Sends the code, after code that sets its variables and before code that
 * removes them. */
static bool send_all(exchange_t *exchange, executions_t *runs,
                     const subscription_t *subscription, const json_t *body,
                     char ret_id[EXECUTION_ID_SIZE])
{
    json_t *of_sandbox =
        json_object_get(sandbox_find(exchange->http, subscription->id), "envs");
    json_t *of_run = json_object_get(body, "env_vars");
    cleanup_free char *before = run_variables_before(of_sandbox, of_run);
    cleanup_free char *after = run_variables_after(of_sandbox, of_run);
    char other[EXECUTION_ID_SIZE];

    return (!before
            || send_code(exchange, runs, subscription, before, true, other))
           && send_code(exchange, runs, subscription, model_text(body, "code"),
                        false, ret_id)
           && (!after
               || send_code(exchange, runs, subscription, after, true, other));
}

static void begin_stream(exchange_t *exchange, subscription_t *subscription,
                         const char *id)
{
    run_stream_t *self = mem_new(sizeof *self);

    self->exchange = exchange;
    snprintf(self->session, sizeof self->session, "%s", subscription->id);
    snprintf(self->id, sizeof self->id, "%s", id);
    self->folder = mem_text(subscription->journal);
    self->follower = journal_follower_new();
    journal_follower_begin(self->follower, subscription->last_seq);
    self->keepalive = clock_monotonic_ms() + KEEPALIVE_MS;
    subscription_follow(subscription, exchange);
    exchange_header(exchange, "Cache-Control", "no-store");
    exchange_header(exchange, "X-Accel-Buffering", "no");
    exchange_stream(exchange, 200, "application/x-ndjson",
                    &(exchange_source_t){
                        .next = next_piece, .state = self, .end = destroy});
}

/* --- The request --- */

static bool read_request(exchange_t *exchange, json_t **ret_body)
{
    const json_t *body;

    if (!exchange_read_object(exchange, ret_body))
        return false;
    body = *ret_body;
    if (!json_is_string(json_object_get(body, "code")))
        exchange_fail(exchange, 400, "code must be the code, a text");
    else if (!sandbox_are_variables(json_object_get(body, "env_vars")))
        exchange_fail(exchange, 400,
                      "env_vars must be an object of texts, of at most %u "
                      "bytes",
                      SANDBOX_TEXTS_MAX);
    else
        return code_context_check(exchange, body);
    return false;
}

static void on_ready(exchange_t *exchange, const json_t *session)
{
    subscription_t *subscription =
        subscription_find(exchange->http, exchange->request.parameters[0]);
    json_auto_t *body = NULL;
    char id[EXECUTION_ID_SIZE];
    executions_t *runs;
    fault_t fault;

    if (!session || !json_object_size(session) || !subscription) {
        exchange_fail(exchange, session ? 503 : 502,
                      session ? "The sandbox %.100s is not ready yet"
                              : "The sandbox %.100s was not found: it ended",
                      exchange->request.parameters[0]);
        return;
    }
    runs = executions_of(exchange->http, subscription->id,
                         subscription->journal, &fault);
    if (!runs)
        exchange_fail(exchange, 500, "%s", fault.text);
    else if (read_request(exchange, &body)
             && send_all(exchange, runs, subscription, body, id))
        begin_stream(exchange, subscription, id);
}

void sandbox_execute(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    /* Mistakes of the request are answered before the session is asked. */
    if (read_request(exchange, &body) && sandbox_target(exchange))
        (void) jupyter_model_await(exchange, exchange->request.parameters[0],
                                   AWAIT_HELLO, on_ready);
}
