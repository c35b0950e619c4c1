/* See tool_result.h. A tool that fails reports it to the model (`isError`); a
 * protocol error is for mistakes that a model cannot correct. */
#include "gateway/http/mcp/results/tool_result.h"

#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_view.h"
#include "gateway/http/mcp/results/loss_block.h"
#include "gateway/http/mcp/results/structured.h"

#include <stdarg.h>
#include <string.h>

json_t *tool_result_block(const void *text, size_t size)
{
    json_t *string = json_stringn(size ? text : "", size);
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;

    if (!string) {
        for (size_t i = 0; i < size; i++) {
            const char *byte = (const char *) text + i;
            buffer_append(&plain, (unsigned char) *byte < 0x80 ? byte : "?", 1);
        }
        string = json_stringn((const char *) plain.data, plain.size);
    }
    return json_pack("{s:s,s:o}", "type", "text", "text", string);
}

json_t *tool_result_image(const char *mime, const char *base64, size_t size)
{
    return json_pack("{s:s,s:o,s:s}", "type", "image", "data",
                     json_stringn(base64, size), "mimeType", mime);
}

/* Answers with these blocks; `more` has members of the structured content, and
 * both are taken. */
static void answer(mcp_call_t *call, bool is_error, json_t *blocks,
                   json_t *more)
{
    json_t *result = json_pack("{s:b}", "isError", is_error);

    if (call->is_structured) {
        json_t *structured = structured_text(is_error, blocks);

        json_object_update_missing(structured, more);
        if (call->loss)
            json_object_set_new(structured, "state",
                                execution_view_state(loss_block_loss(call)));
        json_object_set_new(result, "structuredContent", structured);
    }
    json_decref(more);
    loss_block_add(call, blocks);
    json_object_set_new(result, "content", blocks);
    call_result(call, result);
}

void tool_result_blocks(mcp_call_t *call, bool is_error, json_t *blocks)
{
    answer(call, is_error, blocks, NULL);
}

void tool_result_process(mcp_call_t *call, bool is_error, const buffer_t *text,
                         json_t *structured)
{
    answer(call, is_error,
           json_pack("[o]", tool_result_block(text->data, text->size)),
           structured);
}

void tool_result_bytes(mcp_call_t *call, bool is_error, const void *text,
                       size_t size)
{
    tool_result_blocks(call, is_error,
                       json_pack("[o]", tool_result_block(text, size)));
}

void tool_result_text(mcp_call_t *call, bool is_error, const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rpc_text_clean(text);
    tool_result_bytes(call, is_error, text, strlen(text));
}

bool tool_result_is_ok(mcp_call_t *call, const json_t *reply)
{
    const char *evalue = model_text(reply, "evalue");

    if (strcmp(model_text(reply, "status"), "ok") == 0)
        return true;
    tool_result_text(call, true, "%s",
                     *evalue ? evalue : "the gateway does not answer");
    return false;
}
