/* The tools `execute` and `wait`. The id of an execution in the journal comes
 * from the client's key. So the same call twice runs once, also if the gateway
 * was restarted in between. */
#include "gateway/http/mcp/tools/tool_execute.h"

#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_request.h"
#include "gateway/http/mcp/calls/attach.h"
#include "gateway/http/mcp/elicitation/question.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tasks/run_wait.h"
#include "gateway/http/mcp/tasks/tasks.h"
#include "gateway/http/mcp/tools/call_key.h"
#include "gateway/http/mcp/tools/tool_resume.h"
#include "gateway/http/mcp/tools/tool_session.h"
#include "gateway/http/subscriptions/subscription.h"

#include <sodium.h>

#include <string.h>

#define TIMEOUT_S  120.0 /* of the code; the default */
#define TOKENS_MIN 100
#define WAIT_MAX_S 600.0
#define NAME_SIZE  (sizeof "once-" + 2 * CLIENT_KEY_DIGEST_SIZE)

/* The state of a call until its code is sent. */
typedef struct {
    char name[NAME_SIZE]; /* of a session that the call makes under a key, or ""
                           */
    bool is_new;          /* the session was made for this call */
} execute_t;

static void end_execute(void **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static double number_argument(const mcp_call_t *call, const char *name,
                              double usual)
{
    const json_t *value = json_object_get(call->arguments, name);

    return value ? json_number_value(value) : usual;
}

/* Returns how long a call waits for its code, in seconds. */
static double block_of(const mcp_call_t *call)
{
    return (double) call->exchange->http->options->mcp.block_ms / 1000;
}

static size_t tokens_of(const mcp_call_t *call)
{
    double tokens = number_argument(call, "max_tokens", 0);

    return tokens > 0 ? (size_t) tokens : 0;
}

/* --- Sending --- */

static json_t *make_content(const mcp_call_t *call)
{
    return json_pack("{s:O,s:b,s:b,s:{},s:b,s:b}", "code",
                     json_object_get(call->arguments, "code"), "silent", 0,
                     "store_history", 1, "user_expressions", "allow_stdin",
                     question_is_declared(call), "stop_on_error", 0);
}

static json_t *make_metadata(const mcp_call_t *call)
{
    return json_pack("{s:{s:s,s:s,s:b,s:s,s:b,s:f,s:I}}", "hearth", "client",
                     "mcp", "reader", call->exchange->who, "namespace", 1,
                     "view", "model", "secrets", 0, "time_limit",
                     number_argument(call, "timeout", TIMEOUT_S), "view_tokens",
                     (json_int_t) tokens_of(call));
}

static bool send_run(mcp_call_t *call, const subscription_t *subscription,
                     executions_t *runs, const char *id)
{
    json_auto_t *content = make_content(call);
    json_auto_t *metadata = make_metadata(call);
    cleanup_message message_t *message = execution_request_message(
        id, subscription->kernel_session ? subscription->kernel_session : "",
        "execute_request", NULL, metadata, content);
    execution_t *run = executions_add(runs, id);
    fault_t fault;

    execution_digest(
        json_string_value(json_object_get(call->arguments, "code")),
        run->digest);
    if (execution_request_send(call->exchange->http, subscription->id, run,
                               CHANNEL_SHELL, message, &fault)
        == 0)
        return true;
    executions_drop(runs, run);
    tool_result_text(call, true, "The code was not sent: %s", fault.text);
    return false;
}

/* Returns true if the execution was sent before under the same key with the
 * same code, or is sent now. */
static bool send_once(mcp_call_t *call, const subscription_t *subscription,
                      executions_t *runs, const char *id)
{
    uint8_t digest[EXECUTION_DIGEST_SIZE];
    execution_t *run = executions_find(runs, id);

    execution_digest(
        json_string_value(json_object_get(call->arguments, "code")), digest);
    if (run && memcmp(run->digest, digest, sizeof digest) != 0) {
        tool_result_text(call, true,
                         "Other code was sent before under this key");
        return false;
    }
    if (run && run->state == EXECUTION_REFUSED) {
        executions_drop(runs, run);
        run = NULL;
    }
    return run || send_run(call, subscription, runs, id);
}

/* Sends the code to a session that is attached. */
static void run_in(mcp_call_t *call, const subscription_t *subscription)
{
    const execute_t *own = call->state;
    double timeout = number_argument(call, "timeout", TIMEOUT_S) + 3;
    double block = block_of(call);
    char id[EXECUTION_ID_SIZE], session[FRONTEND_ID_MAX];
    fault_t fault;
    executions_t *runs = executions_of(call->exchange->http, subscription->id,
                                       subscription->journal, &fault);

    if (!runs) {
        tool_result_text(call, true, "%s", fault.text);
        return;
    }
    snprintf(session, sizeof session, "%s", subscription->id);
    call_key_id(call, session, id);
    if (!send_once(call, subscription, runs, id))
        return;
    /* A second after the time limit the session has interrupted the code. */
    run_wait_begin(
        call, &(run_wait_start_t){.session = session,
                                  .journal = subscription->journal,
                                  .run = id,
                                  .is_new = own->is_new,
                                  .is_cancelled = true,
                                  .may_be_task = tasks_are_declared(call),
                                  .seconds = timeout < block ? timeout : block,
                                  .tokens_max = tokens_of(call)});
}

static void on_attached(mcp_call_t *call, const subscription_t *subscription,
                        const char *flaw)
{
    if (subscription)
        run_in(call, subscription);
    else
        tool_result_text(call, true, "%s", flaw);
}

/* --- The session --- */

static void on_created(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    execute_t *own = call->state;

    own->is_new = true;
    if (tool_result_is_ok(call, reply))
        attach_begin(call, model_text(json_object_get(reply, "session"), "id"),
                     on_attached);
}

static void create(mcp_call_t *call)
{
    const execute_t *own = call->state;

    if (*own->name)
        registry_client_ask_once(
            call->exchange, own->name, "session_create_request",
            json_pack("{s:s}", "name", own->name), on_created);
    else
        registry_client_ask(call->exchange, "session_create_request",
                            json_object(), on_created);
}

static void on_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = tool_session_alive(call, reply);

    if (session)
        attach_begin(call, model_text(session, "id"), on_attached);
}

/* Uses the session that an earlier call with this key has made, or makes one.
 */
static void on_named_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    if (strcmp(model_text(reply, "ename"), "UnknownSession") == 0) {
        create(call);
        return;
    }
    ((execute_t *) call->state)->is_new = true;
    on_shown(exchange, reply);
}

/* Names a session after the key, so that the same call finds it again. */
static void name_session(mcp_call_t *call)
{
    execute_t *own = call->state;
    uint8_t digest[CLIENT_KEY_DIGEST_SIZE];
    char hex[2 * sizeof digest + 1];

    call_key_digest(call, "", digest);
    sodium_bin2hex(hex, sizeof hex, digest, sizeof digest);
    snprintf(own->name, sizeof own->name, "once-%s", hex);
    registry_client_ask(call->exchange, "session_show_request",
                        json_pack("{s:s}", "id", own->name), on_named_shown);
}

static bool check_options(mcp_call_t *call)
{
    double timeout = number_argument(call, "timeout", TIMEOUT_S);

    if (!call_key_check(call))
        return false;
    if (timeout < 0.1 || timeout > 86400)
        tool_result_text(call, true, "timeout must be 0.1 to 86400 seconds");
    else if (json_object_get(call->arguments, "max_tokens")
             && number_argument(call, "max_tokens", 0) < TOKENS_MIN)
        tool_result_text(call, true, "max_tokens must be at least %d",
                         TOKENS_MIN);
    else
        return true;
    return false;
}

void tool_execute_run(mcp_call_t *call)
{
    if (!check_options(call) || tool_resume_run(call))
        return;
    call_keep(call, mem_new(sizeof(execute_t)), end_execute, NULL);
    if (tool_session_name(call))
        tool_session_ask(call, on_shown);
    else if (call_key(call))
        name_session(call);
    else
        create(call);
}

/* --- wait --- */

/* Returns the execution that was sent last; NULL if none was sent. */
static execution_t *last_run(const executions_t *runs)
{
    execution_t *last = NULL;

    for (execution_t *at = zhashx_first(runs->table); at;
         at = zhashx_next(runs->table)) {
        if (at->state == EXECUTION_SENT)
            return at;
        if (!last || at->number > last->number)
            last = at;
    }
    return last;
}

static void wait_for_last(mcp_call_t *call, const char *session,
                          const char *journal)
{
    double seconds = number_argument(call, "seconds", block_of(call));
    fault_t fault;
    executions_t *runs =
        executions_of(call->exchange->http, session, journal, &fault);
    const execution_t *run = runs ? last_run(runs) : NULL;

    if (!runs)
        tool_result_text(call, true, "%s", fault.text);
    else if (!run)
        tool_result_text(call, true,
                         "Nothing runs in session %s, and nothing did by "
                         "execute",
                         session);
    else
        run_wait_begin(
            call, &(run_wait_start_t){.session = session,
                                      .journal = journal,
                                      .run = run->id,
                                      .seconds = seconds < 0 ? 0 : seconds});
}

static void wait_in(mcp_call_t *call, const json_t *session)
{
    fault_t fault;

    if (subscription_open(call->exchange->http, model_text(session, "id"),
                          &fault))
        wait_for_last(call, model_text(session, "id"),
                      model_text(session, "journal"));
    else
        tool_result_text(call, true, "%s", fault.text);
}

static void on_wait_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = tool_session_alive(call, reply);

    if (session)
        wait_in(call, session);
}

/* Waits after an interrupt, whose effect shows when the code ends, or does not
 * end. */
static void on_interrupted(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    if (tool_result_is_ok(call, reply))
        tool_session_ask(call, on_wait_shown);
}

static void on_interrupt_shown(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = tool_session_alive(call_of(exchange), reply);

    if (session)
        registry_client_ask(exchange, "session_interrupt_request",
                            json_pack("{s:s}", "id", model_text(session, "id")),
                            on_interrupted);
}

void tool_wait_run(mcp_call_t *call)
{
    bool interrupts =
        json_is_true(json_object_get(call->arguments, "interrupt"));

    if (number_argument(call, "seconds", 1) < 0
        || number_argument(call, "seconds", 1) > WAIT_MAX_S)
        tool_result_text(call, true, "seconds must be 0 to %.0f", WAIT_MAX_S);
    else if (tool_resume_run(call))
        return;
    else if (!interrupts && call_permits(call, SCOPE_OBSERVE))
        tool_session_ask(call, on_wait_shown);
    else if (interrupts && call_permits(call, SCOPE_EXECUTE))
        tool_session_ask(call, on_interrupt_shown);
}
