/* See tasks.h. Everything about a task is read from the journal each time: how
 * far the run is, and what it has shown. */
#include "gateway/http/mcp/tasks/tasks.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/mcp/calls/attach.h"
#include "gateway/http/mcp/elicitation/question.h"
#include "gateway/http/mcp/protocol/task_id.h"
#include "gateway/http/mcp/results/session_end.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/rpc/registry_client.h"

#include <errno.h>
#include <string.h>

#define POLL_MS 2000 /* between two looks at a task */

bool tasks_are_declared(const mcp_call_t *call)
{
    return json_is_object(json_object_get(
        json_object_get(revision_capabilities(&call->message), "extensions"),
        TASKS_EXTENSION));
}

/* --- What a task says --- */

/* Returns true if the run was interrupted, or never began. */
static bool is_cancelled(const mcp_call_t *call, const executions_t *runs,
                         const execution_t *run)
{
    cleanup_cell_outcome cell_outcome_t outcome = {0};

    return run->state == EXECUTION_DONE
           && execution_outcome_read(call->exchange->http, runs, run, &outcome)
                  == 0
           && (strcmp(model_text(outcome.reply, "status"), "aborted") == 0
               || strcmp(model_text(outcome.reply, "ename"),
                         "KeyboardInterrupt")
                      == 0);
}

const char *tasks_status(const mcp_call_t *call, const executions_t *runs,
                         const execution_t *run)
{
    if (is_cancelled(call, runs, run))
        return "cancelled";
    if (question_is_open(run) && question_is_declared(call))
        return "input_required";
    return run->state == EXECUTION_DONE || run->state == EXECUTION_REFUSED
               ? "completed"
               : "working";
}

/* Returns the first line of a result's text, for the caller. */
static json_t *first_line(const json_t *result)
{
    const char *text = model_text(
        json_array_get(json_object_get(result, "content"), 0), "text");

    return json_stringn(text, strcspn(text, "\n"));
}

static json_t *time_of(int64_t wall_us)
{
    char text[CLOCK_ISO_SIZE];

    clock_iso(wall_us, text);
    return json_string(text);
}

/* Sets the tool's result, which is of its own and whole: clients read it as the
 * answer to a call. */
static void set_result(json_t *task, json_t *result)
{
    json_object_set_new(result, "resultType", json_string("complete"));
    json_object_set(task, "result", result);
}

json_t *tasks_model(const mcp_call_t *call, const char *session,
                    executions_t *runs, const execution_t *run)
{
    const char *status = tasks_status(call, runs, run);
    bool is_completed = strcmp(status, "completed") == 0;
    const run_answer_t answer = {.tokens_max = run->tokens_max,
                                 .is_for_task = true,
                                 .is_structured = call->is_structured};
    json_auto_t *result =
        run_answer_result(call->exchange->http, session, runs, run, &answer);
    char id[TASK_ID_SIZE];
    json_t *task =
        json_pack("{s:s,s:s,s:o,s:o,s:n,s:i}", "taskId",
                  task_id_write(session, run->id, id), "status", status,
                  "createdAt", time_of(run->sent_us), "lastUpdatedAt",
                  time_of(run->changed_us), "ttlMs", "pollIntervalMs", POLL_MS);

    if (strcmp(status, "input_required") == 0)
        json_object_set_new(task, "inputRequests",
                            question_requests(call, session, run));
    if (is_completed)
        set_result(task, result);
    else
        json_object_set_new(task, "statusMessage", first_line(result));
    return task;
}

/* --- Which task a request means --- */

bool tasks_check(mcp_call_t *call)
{
    if (tasks_are_declared(call))
        return true;
    call_error(call, 400, RPC_MISSING_CAPABILITY,
               json_pack("{s:{s:{s:{}}}}", "requiredCapabilities", "extensions",
                         TASKS_EXTENSION),
               "the request does not declare the extension " TASKS_EXTENSION);
    return false;
}

static void refuse(mcp_call_t *call)
{
    call_error(call, 400, RPC_INVALID_PARAMS, NULL,
               "there is no such task, or its session's journal is no longer "
               "kept");
}

/* Asks the registry for the task's session; that of the endpoint, if it is
 * bound to one. */
static void ask(mcp_call_t *call, registry_client_reply_fn *fn)
{
    task_id_t id;

    if (!tasks_check(call))
        return;
    if (task_id_read(rpc_message_text(&call->message, "taskId"), &id))
        registry_client_ask(
            call->exchange, "session_show_request",
            json_pack("{s:s}", "id", call->bound ? call->bound : id.session),
            fn);
    else
        refuse(call);
}

/* Returns the run that the request means, and the runs of its session. NULL if
 * there is no such run; the request is then answered. */
static execution_t *find(mcp_call_t *call, const json_t *reply,
                         executions_t **ret_runs)
{
    const json_t *session = json_object_get(reply, "session");
    const char *ename = model_text(reply, "ename");
    execution_t *run = NULL;
    task_id_t id;
    fault_t fault;

    /* An error of a gateway that is busy or ending says nothing about the
     * task. */
    if (*ename && strcmp(ename, "UnknownSession") != 0) {
        call_error(call, 503, RPC_INTERNAL_ERROR, NULL, "%s",
                   model_text(reply, "evalue"));
        return NULL;
    }
    if (task_id_read(rpc_message_text(&call->message, "taskId"), &id)
        && strcmp(model_text(session, "id"), id.session) == 0) {
        *ret_runs = executions_of(call->exchange->http, id.session,
                                  model_text(session, "journal"), &fault);
        run = *ret_runs ? executions_find(*ret_runs, id.run) : NULL;
    }
    if (!run)
        refuse(call);
    return run;
}

/* --- tasks/get --- */

/* Answers for a run whose session is gone: its reply will never come. */
static void answer_lost(mcp_call_t *call, const json_t *session, json_t *task)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_auto_t *result = NULL;

    buffer_format(&text, "STATE LOST: session %.8s ",
                  model_text(session, "id"));
    session_end_write(session, &text);
    result = json_pack("{s:[o],s:b}", "content",
                       tool_result_block((const char *) text.data, text.size),
                       "isError", 1);
    json_object_set_new(task, "status", json_string("completed"));
    json_object_del(task, "statusMessage");
    json_object_del(task, "inputRequests");
    set_result(task, result);
    call_result(call, task);
}

static void on_get(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = json_object_get(reply, "session");
    executions_t *runs;
    const execution_t *run = find(call, reply, &runs);
    json_t *task;

    if (!run)
        return;
    task = tasks_model(call, model_text(session, "id"), runs, run);
    if (model_is_gone(session) && run->state != EXECUTION_DONE
        && run->state != EXECUTION_REFUSED)
        answer_lost(call, session, task);
    else
        call_result(call, task);
}

void tasks_get(mcp_call_t *call)
{
    ask(call, on_get);
}

/* --- tasks/update --- */

/* Answers the question that is open; other responses are ignored. */
static void update(mcp_call_t *call, const char *session, execution_t *run)
{
    const json_t *answer = question_response(
        run, json_object_get(call->message.params, "inputResponses"));
    fault_t fault;
    int r = 0;

    if (answer && question_is_open(run))
        r = question_answer(call->exchange->http, session, run, answer, &fault);
    if (r == 0)
        call_result(call, json_object());
    else
        call_error(call, r == -EINVAL ? 400 : 503,
                   r == -EINVAL ? RPC_INVALID_PARAMS : RPC_INTERNAL_ERROR, NULL,
                   "%s", fault.text);
}

static void on_attached(mcp_call_t *call, const subscription_t *subscription,
                        const char *flaw)
{
    executions_t *runs = NULL;
    execution_t *run = NULL;
    task_id_t id;
    fault_t fault;

    if (!subscription) {
        call_error(call, 503, RPC_INTERNAL_ERROR, NULL, "%s", flaw);
        return;
    }
    if (task_id_read(rpc_message_text(&call->message, "taskId"), &id))
        runs = executions_of(call->exchange->http, id.session,
                             subscription->journal, &fault);
    run = runs ? executions_find(runs, id.run) : NULL;
    if (run)
        update(call, id.session, run);
    else
        refuse(call);
}

/* Takes an answer to the task's question. The session has to be attached to
 * before. */
static void on_update(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    executions_t *runs;
    const execution_t *run = find(call, reply, &runs);

    if (!run)
        return;
    if (question_is_open(run))
        attach_begin(call, model_text(json_object_get(reply, "session"), "id"),
                     on_attached);
    else
        call_result(call, json_object());
}

void tasks_update(mcp_call_t *call)
{
    if (json_is_object(json_object_get(call->message.params, "inputResponses")))
        ask(call, on_update);
    else
        call_error(call, 400, RPC_INVALID_PARAMS, NULL,
                   "params.inputResponses must be an object");
}

/* --- tasks/cancel --- */

/* Acknowledges the request; tasks/get shows the outcome. */
static void on_interrupted(exchange_t *exchange, const json_t *reply)
{
    (void) reply;
    call_result(call_of(exchange), json_object());
}

static void on_cancel(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    executions_t *runs;
    const execution_t *run = find(call, reply, &runs);

    if (!run)
        return;
    if (run->state == EXECUTION_DONE || run->state == EXECUTION_REFUSED)
        call_result(call, json_object());
    else
        registry_client_ask(
            exchange, "session_interrupt_request",
            json_pack("{s:s,s:s}", "id",
                      model_text(json_object_get(reply, "session"), "id"),
                      "msg_id", run->id),
            on_interrupted);
}

void tasks_cancel(mcp_call_t *call)
{
    ask(call, on_cancel);
}
