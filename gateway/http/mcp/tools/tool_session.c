/* Finds a tool's session. A gone session is never replaced silently: the model
 * learns when and why it ended, and that its files are kept. A loss that the
 * model has not got is part of the answer, whatever the tool does. */
#include "gateway/http/mcp/tools/tool_session.h"

#include "gateway/http/core/model.h"
#include "gateway/http/mcp/results/loss_block.h"
#include "gateway/http/mcp/results/session_end.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "notebooks/modelview/short_id.h"

#include <string.h>

const char *tool_session_name(const mcp_call_t *call)
{
    const char *name =
        json_string_value(json_object_get(call->arguments, "session"));

    if (call->bound)
        return call->bound;
    return name && *name ? name : NULL;
}

void tool_session_ask(mcp_call_t *call, registry_client_reply_fn *fn)
{
    const char *name = tool_session_name(call);

    if (name)
        registry_client_ask(call->exchange, "session_show_request",
                            loss_block_request(call, name), fn);
    else
        tool_result_text(call, true,
                         "session is missing: the id that an earlier result "
                         "has in its first line");
}

const json_t *tool_session_of(mcp_call_t *call, const json_t *reply)
{
    if (strcmp(model_text(reply, "ename"), "UnknownSession") == 0) {
        tool_result_text(
            call, true, "There is no session %.100s. %s",
            tool_session_name(call),
            call->bound ? "This endpoint is for that session alone."
                        : "The tool session lists those that live; execute "
                          "without a session makes a new one.");
        return NULL;
    }
    if (!tool_result_is_ok(call, reply))
        return NULL;
    loss_block_keep(call, json_object_get(reply, "session"));
    return json_object_get(reply, "session");
}

const json_t *tool_session_alive(mcp_call_t *call, const json_t *reply)
{
    const json_t *session = tool_session_of(call, reply);
    cleanup_buffer buffer_t end = BUFFER_EMPTY;
    char id[SHORT_ID_SIZE];

    if (!session || !model_is_gone(session))
        return session;
    session_end_write(session, &end);
    loss_block_deliver(call); /* by this answer */
    tool_result_text(call, true,
                     "[-] STATE LOST · session %s · %.*s. Call session with "
                     "action restart to go on under the same id%s.",
                     short_id_write(model_text(session, "id"), id),
                     (int) end.size, (const char *) end.data,
                     call->bound ? "" : ", or execute without a session");
    return NULL;
}
