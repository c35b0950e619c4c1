/* The tool `session`. */
#include "gateway/http/mcp/tools/tool_session_run.h"

#include "gateway/http/core/model.h"
#include "gateway/http/mcp/results/loss_block.h"
#include "gateway/http/mcp/results/session_end.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tools/process_arguments.h"
#include "gateway/http/mcp/tools/tool_process.h"
#include "gateway/http/mcp/tools/tool_session.h"
#include "gateway/http/subscriptions/subscription.h"
#include "notebooks/modelview/short_id.h"

#include <string.h>

/* --- list --- */

static void write_session(const json_t *session, buffer_t *out)
{
    const char *expires = model_text(session, "expires_at");
    const char *name = model_text(session, "name");
    char id[SHORT_ID_SIZE];

    short_id_write(model_text(session, "id"), id);
    buffer_format(out, "\n%s\t%s\t%s\t%s\t%.19s", id,
                  *name && strcmp(name, id) != 0 ? name : "-",
                  model_text(session, "profile"), model_text(session, "state"),
                  *expires ? expires : "-");
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *sessions = json_object_get(reply, "sessions"), *session;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    size_t i;

    if (!tool_result_is_ok(call, reply))
        return;
    buffer_text(&out, "id\tname\tprofile\tstate\tends if idle (UTC)");
    json_array_foreach(sessions, i, session) if (!model_is_gone(session))
        write_session(session, &out);
    tool_result_bytes(call, false, out.data, out.size);
}

/* --- show --- */

static void on_show(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = tool_session_of(call, reply);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    char id[SHORT_ID_SIZE];

    if (!session)
        return;
    buffer_format(&out, "session %s: %s, profile %s, %lld cells",
                  short_id_write(model_text(session, "id"), id),
                  model_text(session, "state"), model_text(session, "profile"),
                  (long long) json_integer_value(
                      json_object_get(session, "execution_count")));
    if (json_object_get(session, "memory_kib"))
        buffer_format(&out, ", %lld MiB of memory",
                      (long long) json_integer_value(
                          json_object_get(session, "memory_kib"))
                          / 1024);
    if (model_is_gone(session)) {
        buffer_text(&out, "\n");
        session_end_write(session, &out);
        loss_block_deliver(call); /* by this answer */
    } else if (*model_text(session, "expires_at")) {
        buffer_format(&out, "\nends if idle until %.19s UTC",
                      model_text(session, "expires_at"));
    }
    tool_result_bytes(call, false, out.data, out.size);
}

/* --- restart and end --- */

static void answer_restarted(mcp_call_t *call, const char *id)
{
    char text[SHORT_ID_SIZE];

    tool_result_text(call, false,
                     "session %s has a fresh kernel: variables are gone, files "
                     "are kept",
                     short_id_write(id, text));
}

static void on_ready(exchange_t *exchange, const json_t *session)
{
    mcp_call_t *call = call_of(exchange);

    if (session && json_object_size(session))
        answer_restarted(call, tool_session_name(call));
    else
        tool_result_text(call, true, "session %s %s", tool_session_name(call),
                         session ? "has no kernel yet: it is still starting"
                                 : "ended while it was restarted");
}

static void on_ordered(exchange_t *exchange, const json_t *reply)
{
    if (tool_result_is_ok(call_of(exchange), reply))
        subscription_start_patience(exchange);
    else
        subscription_forget(exchange);
}

static void on_revived(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    if (tool_result_is_ok(call, reply))
        answer_restarted(call,
                         model_text(json_object_get(reply, "session"), "id"));
}

static void on_restart_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = tool_session_of(call, reply);
    const char *id = model_text(session, "id");
    subscription_t *subscription;
    fault_t fault;

    if (!session)
        return;
    loss_block_drop(call); /* the next answer has it, with this one */
    if (model_is_gone(session)) {
        registry_client_ask(exchange, "session_revive_request",
                            json_pack("{s:s}", "id", id), on_revived);
        return;
    }
    subscription = subscription_open(exchange->http, id, &fault);
    if (!subscription) {
        tool_result_text(call, true, "%s", fault.text);
        return;
    }
    subscription_await(subscription, exchange, AWAIT_READY, on_ready);
    registry_client_ask(exchange, "session_restart_request",
                        json_pack("{s:s}", "id", id), on_ordered);
}

static void on_ended(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    if (tool_result_is_ok(call, reply))
        tool_result_text(call, false, "session %s has ended",
                         tool_session_name(call));
}

static void on_end_shown(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = tool_session_alive(call_of(exchange), reply);

    if (session)
        registry_client_ask(exchange, "session_delete_request",
                            json_pack("{s:s}", "id", model_text(session, "id")),
                            on_ended);
}

void tool_session_run(mcp_call_t *call)
{
    static const struct {
        const char *action;
        unsigned scope;
        registry_client_reply_fn *fn;
    } actions[] = {
        {"show", SCOPE_OBSERVE, on_show},
        {"restart", SCOPE_EXECUTE, on_restart_shown},
        {"end", SCOPE_EXECUTE, on_end_shown},
        {"run", SCOPE_EXECUTE, tool_process_run},
        {"write", SCOPE_EXECUTE, tool_process_write},
        {"close", SCOPE_EXECUTE, tool_process_close},
        {"processes", SCOPE_OBSERVE, tool_process_list},
        {"output", SCOPE_OBSERVE, tool_process_output},
        {"kill", SCOPE_EXECUTE, tool_process_kill},
    };
    const char *action =
        json_string_value(json_object_get(call->arguments, "action"));
    fault_t fault;

    if (process_arguments_check(call->arguments, &fault) < 0) {
        tool_result_text(call, true, "%s", fault.text);
        return;
    }
    if (strcmp(action, "list") == 0) {
        if (call->bound)
            tool_session_ask(call, on_show);
        else if (call_permits(call, SCOPE_OBSERVE))
            registry_client_ask(call->exchange, "session_list_request",
                                json_object(), on_list);
        return;
    }
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].action, action) == 0
            && call_permits(call, actions[i].scope))
            tool_session_ask(call, actions[i].fn);
}
