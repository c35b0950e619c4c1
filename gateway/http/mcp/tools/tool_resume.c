/* See tool_resume.h. An answer is passed on once: the journal knows which
 * question is open. */
#include "gateway/http/mcp/tools/tool_resume.h"

#include "gateway/http/core/model.h"
#include "gateway/http/mcp/calls/attach.h"
#include "gateway/http/mcp/elicitation/call_state.h"
#include "gateway/http/mcp/elicitation/question.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tasks/run_wait.h"
#include "gateway/http/mcp/tasks/tasks.h"
#include "gateway/http/mcp/tools/tool_session.h"

#include <errno.h>
#include <string.h>

static void refuse(mcp_call_t *call)
{
    call_error(call, 400, RPC_INVALID_PARAMS, NULL,
               "requestState was not made for this call, or is too old");
}

/* Passes the answer on if that question is still open. Returns false if that
 * failed, and the call was answered. If the answer is missing, the question is
 * asked again. */
static bool pass_answer(mcp_call_t *call, const char *session, execution_t *run,
                        uint64_t question)
{
    const json_t *answer = question_response(
        run, json_object_get(call->message.params, "inputResponses"));
    fault_t fault;
    int r;

    if (!answer || run->question_seq != question || !question_is_open(run))
        return true;
    r = question_answer(call->exchange->http, session, run, answer, &fault);
    if (r == -EINVAL)
        call_error(call, 400, RPC_INVALID_PARAMS, NULL, "%s", fault.text);
    else if (r < 0)
        tool_result_text(call, true, "The answer was not sent: %s", fault.text);
    return r == 0;
}

/* Waits for the run as the tool does: the code of a `wait` is another call's,
 * and goes on when this one leaves. */
static void wait_on(mcp_call_t *call, const subscription_t *subscription,
                    const execution_t *run)
{
    const char *tool = rpc_message_text(&call->message, "name");
    const json_t *seconds = json_object_get(call->arguments, "seconds");
    bool is_own = strcmp(tool, "execute") == 0;

    run_wait_begin(
        call,
        &(run_wait_start_t){
            .session = subscription->id,
            .journal = subscription->journal,
            .run = run->id,
            .is_cancelled = is_own,
            .may_be_task = is_own && tasks_are_declared(call),
            .seconds =
                seconds ? json_number_value(seconds)
                        : (double) call->exchange->http->options->mcp.block_ms
                              / 1000,
            .tokens_max = run->tokens_max});
}

static void resume(mcp_call_t *call, const subscription_t *subscription)
{
    executions_t *runs = NULL;
    execution_t *run = NULL;
    request_state_t state;
    task_id_t id;
    fault_t fault;

    if (call_state_read(call, &state) && task_id_read(state.run, &id)
        && strcmp(subscription->id, id.session) == 0)
        runs = executions_of(call->exchange->http, id.session,
                             subscription->journal, &fault);
    run = runs ? executions_find(runs, id.run) : NULL;
    if (!run) {
        refuse(call);
        return;
    }
    if (pass_answer(call, id.session, run, state.question))
        wait_on(call, subscription, run);
}

static void on_attached(mcp_call_t *call, const subscription_t *subscription,
                        const char *flaw)
{
    if (subscription)
        resume(call, subscription);
    else
        tool_result_text(call, true, "%s", flaw);
}

static void on_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session;

    /* The call may name no session; its question did. */
    if (strcmp(model_text(reply, "ename"), "UnknownSession") == 0) {
        refuse(call);
        return;
    }
    if ((session = tool_session_alive(call, reply)))
        attach_begin(call, model_text(session, "id"), on_attached);
}

bool tool_resume_run(mcp_call_t *call)
{
    request_state_t state;
    task_id_t id;

    if (!json_object_get(call->message.params, "requestState"))
        return false;
    if (!call_permits(call, SCOPE_EXECUTE))
        return true;
    if (call_state_read(call, &state) && task_id_read(state.run, &id))
        registry_client_ask(
            call->exchange, "session_show_request",
            json_pack("{s:s}", "id", call->bound ? call->bound : id.session),
            on_shown);
    else
        refuse(call);
    return true;
}
