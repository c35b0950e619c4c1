/* See loss_block.h. */
#include "gateway/http/mcp/results/loss_block.h"

#include "gateway/http/core/model.h"
#include "notebooks/modelview/header.h"
#include "notebooks/modelview/short_id.h"

/* Returns the client as sessions know it by its cells, for the caller. */
static char *reader_of(const mcp_call_t *call)
{
    return mem_format(FRONTEND_HTTP "/%s", call->exchange->who);
}

json_t *loss_block_request(const mcp_call_t *call, const char *session)
{
    cleanup_free char *reader = reader_of(call);

    return json_pack("{s:s,s:s}", "id", session, "reader", reader);
}

void loss_block_keep(mcp_call_t *call, const json_t *session)
{
    json_t *loss = json_object_get(session, "unreported");

    loss_block_drop(call);
    if (loss)
        call->loss = json_pack("{s:O,s:O}", "session",
                               json_object_get(session, "id"), "loss", loss);
}

const json_t *loss_block_loss(const mcp_call_t *call)
{
    return json_object_get(call->loss, "loss");
}

void loss_block_drop(mcp_call_t *call)
{
    json_decref(call->loss);
    call->loss = NULL;
}

/* The request outlives the exchange; its answer is dropped. */
void loss_block_deliver(mcp_call_t *call)
{
    http_t *http = call->exchange->http;
    cleanup_free char *reader = reader_of(call);
    cleanup_free char *text = NULL;
    json_auto_t *content = NULL;
    fault_t ignored;

    if (!call->loss)
        return;
    content = json_pack(
        "{s:O,s:s,s:O}", "id", json_object_get(call->loss, "session"), "reader",
        reader, "seq", json_object_get(loss_block_loss(call), "seq"));
    text = json_dumps(content, JSON_COMPACT);
    const frontend_call_t reported = {.type = "session_loss_reported_request",
                                      .content = text_bytes(text),
                                      .tag = ++http->counter};
    (void) frontend_call(http->frontend, &reported, &ignored);
    loss_block_drop(call);
}

void loss_block_add(mcp_call_t *call, json_t *blocks)
{
    modelview_loss_t loss = modelview_read_loss(loss_block_loss(call));
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char id[SHORT_ID_SIZE];

    if (!call->loss)
        return;
    buffer_format(&text, "session %s · ",
                  short_id_write(model_text(call->loss, "session"), id));
    header_write_loss(&loss, &text);
    json_array_insert_new(blocks, 0,
                          json_pack("{s:s,s:s%}", "type", "text", "text",
                                    (const char *) text.data, text.size));
    loss_block_deliver(call);
}
