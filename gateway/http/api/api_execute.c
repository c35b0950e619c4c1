/* Execution as a REST call that returns at once, in the form of Datalayer's
 * jupyter-server-nbmodel: 202 and a Location. The client polls it until there
 * is a result (200), a question for input (300), or the execution was lost
 * (500). A request with a key runs once, however often it is sent. */
#include "gateway/http/api/execute_wish.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/api/view_json.h"
#include "gateway/http/core/model.h"
#include "gateway/http/executions/client_key.h"
#include "gateway/http/executions/execution_outcome.h"
#include "gateway/http/executions/execution_request.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/subscription.h"

#include <errno.h>
#include <string.h>

#define QUEUE_RETRY_S 1 /* Retry-After when the queue is full */

/* Sets what the metadata say about the view. Only a view shows a loss of
 * variables, and only the token of the request names its reader. */
static void set_metadata(const exchange_t *exchange, bool is_for_model,
                         execute_wish_t *wish)
{
    json_t *metadata = json_object_get(wish->body, "metadata");

    if (is_for_model)
        json_object_set_new(
            wish->body, "metadata",
            view_json_metadata(execute_wish_metadata(wish), exchange->who));
    else
        json_object_del(json_object_get(metadata, "hearth"), "reader");
}

/* Reads what the client wants; false if it was answered with what is wrong. */
static bool read_wish(exchange_t *exchange, execute_wish_t *ret_wish)
{
    execution_view_options_t view;
    bool is_for_model;
    json_t *body;
    fault_t fault;

    if (!view_json_read_options(exchange, &view, &is_for_model)
        || !exchange_read_object(exchange, &body))
        return false;
    if (execute_wish_read(body, exchange->request.headers[HEADER_KEY], ret_wish,
                          &fault)
        < 0) {
        exchange_fail(exchange, 400, "%s", fault.text);
        return false;
    }
    set_metadata(exchange, is_for_model, ret_wish);
    return true;
}

/* --- Answers --- */

static const char *state_name(execution_state_t state)
{
    static const char *const names[] = {
        [EXECUTION_SENT] = "queued",     [EXECUTION_QUEUED] = "queued",
        [EXECUTION_RUNNING] = "running", [EXECUTION_ASKING] = "input",
        [EXECUTION_DONE] = "finished",   [EXECUTION_REFUSED] = "refused",
    };

    return names[state];
}

static char *url_of(const exchange_t *exchange, const char *id)
{
    return mem_format("%s/api/kernels/%s/requests/%s", exchange->http->base,
                      exchange->request.parameters[0], id);
}

static bool is_pending(const execution_t *run)
{
    return run->state != EXECUTION_DONE && run->state != EXECUTION_REFUSED;
}

static json_t *model_run(const exchange_t *exchange, const execution_t *run)
{
    cleanup_free char *url = url_of(exchange, run->id);

    return json_pack("{s:s,s:b,s:s,s:s,s:s}", "request_id", run->id, "pending",
                     is_pending(run), "request_status", state_name(run->state),
                     "request_url", url, "outputs", "[]");
}

static void answer_accepted(exchange_t *exchange, const execution_t *run)
{
    static const char *const names[] = {"max_tokens", "client"};
    cleanup_free char *url = url_of(exchange, run->id);
    cleanup_buffer buffer_t query = BUFFER_EMPTY;

    if (exchange_argument(exchange, "view")) {
        buffer_text(&query, "?view=model");
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            const char *value = exchange_argument(exchange, names[i]);
            if (value)
                buffer_format(&query, "&%s=%s", names[i], value);
        }
    }
    exchange_header(exchange, "Location", "%s%.*s", url, (int) query.size,
                    query.data ? (const char *) query.data : "");
    exchange_json(exchange, 202, model_run(exchange, run));
}

/* Returns the executions of the session in a reply, found by its whole id.
 * NULL if the session has no executions; the request is then answered. */
static executions_t *reply_runs(exchange_t *exchange, const json_t *reply,
                                bool must_live)
{
    const json_t *session = json_object_get(reply, "session");
    const char *id = exchange->request.parameters[0];
    fault_t fault;
    executions_t *runs;

    if (jupyter_model_is_unknown(exchange, reply)
        || !registry_client_is_ok(exchange, reply))
        return NULL;
    if (strcmp(model_text(session, "id"), id) != 0) {
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s", id);
        return NULL;
    }
    if (must_live && model_is_gone(session)) {
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s; %s", id,
                      model_text(session, "detail"));
        return NULL;
    }
    runs = executions_of(exchange->http, id, model_text(session, "journal"),
                         &fault);
    if (!runs)
        executions_fail(exchange, &fault);
    return runs;
}

/* --- POST …/execute --- */

/* Answers a request that was sent before under this key; returns true if it was
 * answered. A request that the session did not accept has not run and may be
 * sent again. */
static bool answer_known(exchange_t *exchange, executions_t *runs,
                         const char *id, const char *code)
{
    uint8_t digest[EXECUTION_DIGEST_SIZE];
    execution_t *run = executions_find(runs, id);

    if (!run)
        return false;
    execution_digest(code, digest);
    bool is_same = memcmp(run->digest, digest, sizeof digest) == 0;
    if (is_same && run->state == EXECUTION_REFUSED) {
        executions_drop(runs, run);
        return false;
    }
    if (is_same)
        answer_accepted(exchange, run);
    else
        exchange_fail(exchange, 409,
                      "Other code was sent under this key; see %s", run->id);
    return true;
}

static void send_order(exchange_t *exchange, executions_t *runs, const char *id,
                       const execute_wish_t *wish)
{
    const subscription_t *subscription =
        subscription_find(exchange->http, exchange->request.parameters[0]);
    json_auto_t *content = execute_wish_content(wish);
    cleanup_message message_t *message = execution_request_message(
        id,
        subscription && subscription->kernel_session
            ? subscription->kernel_session
            : "",
        "execute_request", NULL, execute_wish_metadata(wish), content);
    execution_t *run = executions_add(runs, id);
    fault_t fault;

    execution_digest(wish->code, run->digest);
    if (execution_request_send(exchange->http, exchange->request.parameters[0],
                               run, CHANNEL_SHELL, message, &fault)
        < 0) {
        executions_drop(runs, run);
        exchange_fail(exchange, 503, "%s", fault.text);
        return;
    }
    answer_accepted(exchange, run);
}

/* Runs the code, or answers with the run that has its key. The session is
 * attached; it was shown before, so its journal is known. */
static void on_ready(exchange_t *exchange, const json_t *session)
{
    const char *kernel = exchange->request.parameters[0];
    const subscription_t *subscription =
        subscription_find(exchange->http, kernel);
    cleanup_execute_wish execute_wish_t wish = {0};
    char id[EXECUTION_ID_SIZE];
    fault_t fault;
    executions_t *runs;

    if (!session || !json_object_size(session) || !subscription) {
        exchange_fail(exchange, session ? 503 : 404,
                      session ? "The kernel is not ready yet: %.100s"
                              : "Kernel does not exist: %.100s",
                      kernel);
        return;
    }
    if (!read_wish(exchange, &wish))
        return;
    runs = executions_of(exchange->http, kernel, subscription->journal, &fault);
    if (!runs) {
        executions_fail(exchange, &fault);
        return;
    }
    client_key_id(exchange, CLIENT_KEY_REST, kernel, wish.key, id);
    if (!answer_known(exchange, runs, id, wish.code))
        send_order(exchange, runs, id, &wish);
}

static void on_execute_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_runs(exchange, reply, true))
        (void) jupyter_model_await(exchange, exchange->request.parameters[0],
                                   AWAIT_HELLO, on_ready);
}

static void execute(exchange_t *exchange)
{
    cleanup_execute_wish execute_wish_t wish = {0};

    /* Mistakes of the request are answered before the registry is asked. */
    if (read_wish(exchange, &wish))
        registry_client_ask(exchange, "session_show_request",
                            jupyter_model_id(exchange), on_execute_shown);
}

/* --- GET …/execute, …/requests/ID --- */

static void on_list(exchange_t *exchange, const json_t *reply)
{
    executions_t *runs = reply_runs(exchange, reply, false);
    json_t *list;

    if (!runs)
        return;
    list = json_array();
    for (const execution_t *at = zhashx_first(runs->table); at;
         at = zhashx_next(runs->table))
        if (is_pending(at))
            json_array_append_new(list, model_run(exchange, at));
    exchange_json(exchange, 200, list);
}

static void list(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_list);
}

/* Returns true if the execution did not finish. Code that failed has a result.
 */
static bool was_lost(const json_t *result)
{
    static const char *const names[] = {"KernelDied", "SessionGone"};
    const char *ename = model_text(result, "ename");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], ename) == 0)
            return true;
    return false;
}

/* Returns the status of a lost execution: one that may be possible later has a
 * Retry-After. */
static int lost_status(exchange_t *exchange, const execution_t *run)
{
    if (strcmp(model_text(run->refusal, "ename"), "QueueFull") != 0)
        return 500;
    exchange_header(exchange, "Retry-After", "%d", QUEUE_RETRY_S);
    return 503;
}

static void answer_result(exchange_t *exchange, const executions_t *runs,
                          const execution_t *run)
{
    json_auto_t *model = model_run(exchange, run);
    json_auto_t *result = run->state == EXECUTION_REFUSED
                              ? json_incref(run->refusal)
                              : execution_result(exchange->http, runs, run);
    bool is_lost = run->state == EXECUTION_REFUSED || was_lost(result);

    if (!result) {
        exchange_fail(exchange, 404,
                      "The outputs of request %s are no longer kept", run->id);
        return;
    }
    json_object_update(model, result);
    if (is_lost)
        json_object_set_new(model, "error",
                            json_pack("{s:s,s:s}", "ename",
                                      model_text(result, "ename"), "evalue",
                                      model_text(result, "evalue")));
    exchange_json(exchange, is_lost ? lost_status(exchange, run) : 200,
                  json_incref(model));
}

/* Answers with the view for models, in each state but that of a question. */
static void answer_view(exchange_t *exchange, executions_t *runs,
                        const execution_t *run,
                        const execution_view_options_t *options)
{
    cleanup_execution_view execution_view_t view = {0};
    json_t *model;

    if (execution_view_make(exchange->http, runs, run, options, &view) < 0) {
        exchange_fail(exchange, 404,
                      "The outputs of request %s are no longer kept", run->id);
        return;
    }
    model = model_run(exchange, run);
    json_object_del(model, "outputs");
    json_object_set_new(model, "view", view_json(&view));
    exchange_json(exchange,
                  run->state == EXECUTION_REFUSED ? lost_status(exchange, run)
                  : is_pending(run)               ? 202
                                                  : 200,
                  model);
}

static void on_show(exchange_t *exchange, const json_t *reply)
{
    execution_view_options_t options;
    bool is_for_model;
    executions_t *runs = reply_runs(exchange, reply, false);
    const execution_t *run =
        runs ? executions_find(runs, exchange->request.parameters[1]) : NULL;

    if (!runs || !view_json_read_options(exchange, &options, &is_for_model))
        return;
    if (!run) {
        exchange_fail(exchange, 404,
                      "Execution request %.100s for kernel %.100s does not "
                      "exist",
                      exchange->request.parameters[1],
                      exchange->request.parameters[0]);
    } else if (is_for_model && run->state != EXECUTION_ASKING) {
        answer_view(exchange, runs, run, &options);
    } else if (!is_pending(run)) {
        answer_result(exchange, runs, run);
    } else if (run->state == EXECUTION_ASKING) {
        exchange_header(exchange, "Location", "%s/api/kernels/%s/input",
                        exchange->http->base, exchange->request.parameters[0]);
        exchange_json(exchange, 300, json_incref(run->question));
    } else {
        exchange_json(exchange, 202, model_run(exchange, run));
    }
}

static void show(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_show);
}

/* --- POST …/input --- */

static void answer_question(exchange_t *exchange, execution_t *run,
                            const char *value)
{
    fault_t fault;

    if (execution_request_answer(
            exchange->http, exchange->request.parameters[0], run, value, &fault)
        < 0)
        exchange_fail(exchange, 503, "%s", fault.text);
    else
        exchange_empty(exchange, 201);
}

static void on_input_ready(exchange_t *exchange, const json_t *session)
{
    const char *kernel = exchange->request.parameters[0];
    const subscription_t *subscription =
        subscription_find(exchange->http, kernel);
    json_auto_t *body = NULL;
    const char *value;
    fault_t fault;
    executions_t *runs;
    execution_t *run;

    if (!session || !json_object_size(session) || !subscription) {
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s", kernel);
        return;
    }
    if (!exchange_read_object(exchange, &body))
        return;
    value = json_string_value(json_object_get(body, "input"));
    runs = executions_of(exchange->http, kernel, subscription->journal, &fault);
    run = runs ? executions_asking(runs) : NULL;
    if (!value)
        exchange_fail(exchange, 400, "input must be a text");
    else if (!runs)
        executions_fail(exchange, &fault);
    else if (!run)
        exchange_fail(exchange, 409, "No request of kernel %s waits for input",
                      kernel);
    else
        answer_question(exchange, run, value);
}

static void on_input_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_runs(exchange, reply, true))
        (void) jupyter_model_await(exchange, exchange->request.parameters[0],
                                   AWAIT_HELLO, on_input_ready);
}

static void give_input(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_input_shown);
}

const route_t execute_routes[] = {
    {METHOD_POST, "/api/kernels/{}/execute", SCOPE_EXECUTE, execute},
    {METHOD_GET, "/api/kernels/{}/execute", SCOPE_OBSERVE, list},
    {METHOD_GET, "/api/kernels/{}/requests/{}", SCOPE_OBSERVE, show},
    {METHOD_POST, "/api/kernels/{}/input", SCOPE_EXECUTE, give_input},
    {0},
};
