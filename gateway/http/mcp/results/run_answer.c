/* See run_answer.h. execution_view makes the view; here it becomes MCP's
 * content blocks. */
#include "gateway/http/mcp/results/run_answer.h"

#include "gateway/http/executions/execution_view.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "gateway/http/mcp/results/loss_block.h"
#include "gateway/http/mcp/results/structured.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "notebooks/modelview/short_id.h"

#include <string.h>

/* Returns an image, or a link to an image that is too big for the result. */
static json_t *image_block(const char *session, const modelview_image_t *image)
{
    cleanup_free char *uri = resource_uri_of_output(session, image->ref);

    if (image->is_inline)
        return tool_result_image(image->mime, image->base64,
                                 image->base64_size);
    return json_pack("{s:s,s:s,s:s,s:s}", "type", "resource_link", "uri", uri,
                     "name", image->ref, "mimeType", image->mime);
}

static json_t *blocks_of(const char *session, const modelview_t *view)
{
    json_t *blocks =
        json_pack("[o]", tool_result_block(view->text.data, view->text.size));

    for (size_t i = 0; i < view->image_count; i++)
        json_array_append_new(blocks, image_block(session, &view->images[i]));
    return blocks;
}

json_t *run_answer_result(http_t *http, const char *session, executions_t *runs,
                          const execution_t *run, const run_answer_t *answer)
{
    char id[SHORT_ID_SIZE];
    const execution_view_options_t options = {
        .reading.session = session,
        .is_new_session = answer->is_new,
        .hint = answer->is_for_task ? NULL : "call wait",
        .tokens_max = answer->tokens_max,
        .loss = answer->call ? loss_block_loss(answer->call) : NULL,
    };
    cleanup_execution_view execution_view_t view = {0};

    if (execution_view_make(http, runs, run, &options, &view) == 0) {
        json_t *result =
            json_pack("{s:o,s:b}", "content", blocks_of(session, &view.view),
                      "isError", view.view.is_error);
        if (answer->is_structured)
            json_object_set_new(result, "structuredContent",
                                structured_run(session, &view));
        /* A run that ended with its kernel has a loss of its own. */
        if (answer->call && view.status != MODELVIEW_LOST)
            loss_block_deliver(answer->call);
        return result;
    }
    cleanup_free char *text =
        mem_format("What the code in session %s has shown is no longer kept",
                   short_id_write(session, id));
    return json_pack("{s:[o],s:b}", "content",
                     tool_result_block(text, strlen(text)), "isError", 1);
}

void run_answer(mcp_call_t *call, const char *session, executions_t *runs,
                const execution_t *run, const run_answer_t *answer)
{
    run_answer_t own = *answer;

    own.is_structured = call->is_structured;
    own.call = call;
    call_result(call, run_answer_result(call->exchange->http, session, runs,
                                        run, &own));
}
