/* See question.h. The code may have the prompt from anywhere: it is shown as
 * plain text, named as the code's, and cut. */
#include "gateway/http/mcp/elicitation/question.h"

#include "base/utf8.h"
#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_request.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "notebooks/modelview/plain_line.h"
#include "notebooks/modelview/short_id.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define MEMBER       "value"
#define PROMPT_MAX   1000   /* bytes of a prompt that are shown */
#define END_OF_INPUT "\x04" /* the character that a terminal sends for it */

bool question_is_possible(const json_t *capabilities)
{
    const json_t *declared = json_object_get(capabilities, "elicitation");

    /* An empty object means forms. */
    return json_is_object(declared)
           && (json_object_size(declared) == 0
               || json_is_object(json_object_get(declared, "form")));
}

bool question_is_declared(const mcp_call_t *call)
{
    const size_t size = strlen(call->client), mark = strlen(QUESTION_MARK);

    if (!(call->exchange->scopes & SCOPE_EXECUTE))
        return false;
    if (call->era == ERA_MODERN)
        return question_is_possible(revision_capabilities(&call->message));
    return call_can_stream(call) && size > mark
           && strcmp(call->client + size - mark, QUESTION_MARK) == 0;
}

bool question_is_open(const execution_t *run)
{
    const json_t *asked = json_object_get(run->question, "input_request");

    return run->state == EXECUTION_ASKING
           && !json_is_true(json_object_get(asked, "password"));
}

/* --- The question --- */

static void write_prompt(const execution_t *run, buffer_t *out)
{
    const char *prompt =
        model_text(json_object_get(run->question, "input_request"), "prompt");
    cleanup_plain_line plain_line_t line;

    plain_line_init(&line, prompt, strlen(prompt));
    while (plain_line_next(&line) && out->size < PROMPT_MAX) {
        buffer_text(out, out->size ? "\n" : "");
        buffer_append(out, line.line.bytes, line.line.size);
    }
    if (out->size <= PROMPT_MAX)
        return;
    out->size = utf8_cut(out->data, PROMPT_MAX);
    buffer_text(out, "…");
}

json_t *question_params(const mcp_call_t *call, const char *session,
                        const execution_t *run)
{
    cleanup_buffer buffer_t prompt = BUFFER_EMPTY;
    char id[SHORT_ID_SIZE];
    json_t *params;

    write_prompt(run, &prompt);
    params = json_pack(
        "{s:o,s:{s:s,s:{s:{s:s,s:s}},s:[s]}}", "message",
        json_sprintf("The code in session %s asks for a line of text: %.*s",
                     short_id_write(session, id), (int) prompt.size,
                     prompt.size ? (const char *) prompt.data : ""),
        "requestedSchema", "type", "object", "properties", MEMBER, "type",
        "string", "title", "Answer", "required", MEMBER);
    if (call->era == ERA_MODERN)
        json_object_set_new(params, "mode", json_string("form"));
    return params;
}

/* Names the question: no two of a run have the same key. */
static void write_key(const execution_t *run, char ret_key[QUESTION_KEY_SIZE])
{
    snprintf(ret_key, QUESTION_KEY_SIZE, "q%" PRIu64, run->question_seq);
}

json_t *question_requests(const mcp_call_t *call, const char *session,
                          const execution_t *run)
{
    char key[QUESTION_KEY_SIZE];

    write_key(run, key);
    return json_pack("{s:{s:s,s:o}}", key, "method", QUESTION_METHOD, "params",
                     question_params(call, session, run));
}

/* --- The answer --- */

const json_t *question_response(const execution_t *run, const json_t *responses)
{
    char key[QUESTION_KEY_SIZE];

    write_key(run, key);
    return json_object_get(responses, key);
}

int question_answer(http_t *http, const char *session, execution_t *run,
                    const json_t *answer, fault_t *fault)
{
    const char *action = model_text(answer, "action");
    const json_t *value =
        json_object_get(json_object_get(answer, "content"), MEMBER);
    const char *text = json_string_value(value);

    if (strcmp(action, "decline") == 0 || strcmp(action, "cancel") == 0)
        text = END_OF_INPUT;
    else if (strcmp(action, "accept") != 0 || !text)
        return fault_set(fault, EINVAL,
                         "an answer has an action, and if that is accept, a "
                         "content with the text " MEMBER);
    return execution_request_answer(http, session, run, text, fault);
}
