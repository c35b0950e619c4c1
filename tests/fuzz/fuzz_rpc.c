/* A message of an MCP client: the first three lines are its header lines, the
 * rest is the body. What is refused has a code and a sentence; what is taken
 * has the id that came. */
#include "gateway/http/mcp/protocol/arguments.h"
#include "gateway/http/mcp/protocol/request_state.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "gateway/http/mcp/protocol/revision.h"
#include "gateway/http/mcp/protocol/task_id.h"
#include "gateway/http/mcp/tools/process_arguments.h"

#include "base/buffer.h"

#include <sodium.h>

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *take_line(const uint8_t **data, size_t *size)
{
    const uint8_t *end = memchr(*data, '\n', *size);
    size_t length = end ? (size_t) (end - *data) : *size;
    char *line = length ? mem_copy(*data, length) : NULL;

    *data += length + (end != NULL);
    *size -= length + (end != NULL);
    return line;
}

/* Checks that arguments about programs are passed on, or that a sentence says
 * why not. */
static void check_process(const json_t *arguments)
{
    json_t *content = NULL;
    fault_t fault = {0, ""};

    if (process_arguments_check(arguments, &fault) < 0)
        assert(*fault.text);
    if (process_arguments_start(arguments, &content, &fault) < 0)
        assert(*fault.text && !content);
    else
        assert(json_object_get(content, "argv"));
    json_decref(content);
    content = NULL;
    if (process_arguments_input(arguments, false, &content, &fault) < 0)
        assert(*fault.text && !content);
    else
        assert(json_string_length(json_object_get(content, "text")));
    json_decref(content);
}

static void check(const rpc_message_t *message,
                  const revision_headers_t *headers)
{
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};
    char text[ARGUMENTS_TEXT_SIZE];
    json_auto_t *schema =
        json_pack("{s:{s:{s:s},s:{s:[s,s]}},s:[s]}", "properties", "a", "type",
                  "integer", "b", "enum", "x", "y", "required", "a");

    if (!revision_check(message, headers, &flaw))
        assert(flaw.code < 0 && *flaw.text && flaw.status == 400);
    if (message->params && !arguments_check(schema, message->params, text))
        assert(*text);
    if (message->params)
        check_process(message->params);
}

/* Checks that an id that is read is written again as it was. */
static void check_task(const char *text)
{
    char written[TASK_ID_SIZE];
    task_id_t id;

    if (task_id_read(text, &id))
        assert(strcmp(task_id_write(id.session, id.run, written), text) == 0);
}

/* No text that a client makes up is a state that was signed here. */
static void check_state(const char *text)
{
    static const uint8_t key[REQUEST_STATE_KEY] = {1};
    const request_state_owner_t owner = {.key = key, .principal = ""};
    request_state_t state;

    assert(!request_state_read(text, &owner, 0, &state));
}

/* Checks that a URI that is read has all parts of its kind. */
static void check_uri(const char *text)
{
    resource_uri_t uri;

    if (!resource_uri_read(text, &uri))
        return;
    assert(*uri.session);
    assert((uri.kind == RESOURCE_IS_OUTPUT) == (*uri.ref != 0));
    assert((uri.kind == RESOURCE_IS_FILE) == (*uri.path != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};
    cleanup_free char *version = take_line(&data, &size);
    cleanup_free char *method = take_line(&data, &size);
    cleanup_free char *name = take_line(&data, &size);
    const revision_headers_t headers = {
        .version = version, .method = method, .name = name};

    assert(sodium_init() >= 0);
    if (rpc_message_read(data, size, &message, &flaw)) {
        check(&message, &headers);
        check_task(rpc_message_text(&message, "taskId"));
        check_uri(rpc_message_text(&message, "uri"));
        check_state(rpc_message_text(&message, "requestState"));
    } else {
        json_auto_t *error = rpc_error(message.id, &flaw);
        assert(error && flaw.code < 0 && *flaw.text);
    }
    return 0;
}
