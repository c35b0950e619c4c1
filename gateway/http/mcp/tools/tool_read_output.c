/* The tool `read_output`: what a view has left out, by lines or by a
 * pattern. */
#include "gateway/http/mcp/tools/tool_read_output.h"

#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_view.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tools/tool_session.h"

static long long number_argument(const mcp_call_t *call, const char *name)
{
    return json_integer_value(json_object_get(call->arguments, name));
}

static const char *text_argument(const mcp_call_t *call, const char *name)
{
    return json_string_value(json_object_get(call->arguments, name));
}

static bool read_range(mcp_call_t *call, modelview_range_t *ret)
{
    long long from = number_argument(call, "from_line");
    long long lines = number_argument(call, "lines");

    if (from < 0 || lines < 0) {
        tool_result_text(call, true, "from_line and lines must be 0 or more");
        return false;
    }
    *ret = (modelview_range_t){.from_line = (unsigned long long) from,
                               .lines = (unsigned long long) lines,
                               .grep = text_argument(call, "grep")};
    return true;
}

static void read_output(mcp_call_t *call, const json_t *session)
{
    http_t *http = call->exchange->http;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    modelview_range_t range;
    fault_t fault;
    const executions_t *runs;

    if (!read_range(call, &range))
        return;
    runs = executions_of(http, model_text(session, "id"),
                         model_text(session, "journal"), &fault);
    if (!runs) {
        tool_result_text(call, true, "%s", fault.text);
        return;
    }
    int r = execution_view_read(http, runs, text_argument(call, "ref"), &range,
                                &out);
    if (r < 0)
        tool_result_text(call, true, "%.*s", (int) out.size,
                         (const char *) out.data);
    else
        tool_result_bytes(call, false, out.data, out.size);
}

static void on_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = tool_session_of(call, reply);

    if (session)
        read_output(call, session);
}

void tool_read_output_run(mcp_call_t *call)
{
    tool_session_ask(call, on_shown);
}
