/* See call_state.h. */
#include "gateway/http/mcp/elicitation/call_state.h"

#include "base/clock.h"
#include "gateway/http/mcp/elicitation/question.h"

#define GOOD_FOR_S 3600 /* a person may take this long to answer */

/* --- Whose call it is --- */

typedef struct {
    char who[EXCHANGE_WHO_SIZE];
    char *call; /* owned; the tool with its arguments */
    request_state_owner_t owner;
} own_t;

static void clear_own(own_t *self)
{
    free(self->call);
}
#define cleanup_own CLEANUP(clear_own)

static void fill_own(const mcp_call_t *call, own_t *ret_own)
{
    json_auto_t *called =
        json_pack("[O,O,s?]", json_object_get(call->message.params, "name"),
                  call->arguments, call->bound);

    ret_own->call = json_dumps(called, JSON_COMPACT | JSON_SORT_KEYS);
    ret_own->owner = (request_state_owner_t){
        .key = call->exchange->http->journal_key,
        .principal = exchange_who(call->exchange, ret_own->who),
        .call = text_bytes(ret_own->call)};
}

static int64_t now_s(void)
{
    return clock_wall_us() / 1000000;
}

/* --- The question --- */

void call_state_ask(mcp_call_t *call, const char *session,
                    const execution_t *run)
{
    request_state_t state = {.question = run->question_seq,
                             .until_s = now_s() + GOOD_FOR_S};
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_own own_t own;

    fill_own(call, &own);
    task_id_write(session, run->id, state.run);
    request_state_write(&state, &own.owner, &text);
    call_result(call,
                json_pack("{s:s,s:o,s:o}", "resultType", "input_required",
                          "inputRequests",
                          question_requests(call, session, run), "requestState",
                          json_stringn((const char *) text.data, text.size)));
}

/* --- What comes back --- */

bool call_state_read(const mcp_call_t *call, request_state_t *ret_state)
{
    cleanup_own own_t own;

    fill_own(call, &own);
    return request_state_read(rpc_message_text(&call->message, "requestState"),
                              &own.owner, now_s(), ret_state);
}
