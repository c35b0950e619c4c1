/* What a server of the Model Context Protocol says: the pages of its tools, a
 * line each, and each line as an answer too, also as one that cannot be read.
 * What passes is JSON that the gateway takes, and a sentence is bounded. */
#include "gateway/cli/mcp/mcp_result.h"
#include "gateway/cli/mcp/mcp_unread.h"
#include "protocol/limits.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static bool is_wanted(void *arg, const char *name)
{
    (void) arg;
    if (!*name || strlen(name) > TOOL_NAME_MAX)
        abort();
    return *name != 'x';
}

static void check(const buffer_t *text, jspan_t *ret_value)
{
    fault_t ignored;

    if (jspan_check_portable(text->data, text->size, ret_value, &ignored) < 0)
        abort();
}

static void read_answer(const uint8_t *line, size_t size)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_t answer, value;
    fault_t ignored;
    int64_t id;

    buffer_append(&text, line, size);
    if (mcp_unread_id(&text, &id) && id <= 0)
        abort();
    buffer_clear(&text);
    if (jspan_check_portable(line, size, &answer, &ignored) < 0)
        return;
    if (mcp_result_read(answer, &text))
        check(&text, &value);
    else if (!text.size || text.size > 60000)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t pages = BUFFER_EMPTY;
    cleanup_buffer buffer_t tools = BUFFER_EMPTY;
    mcp_result_tools_t found;
    size_t cursor = 0, count = 0;
    jspan_t array, tool;

    buffer_append(&pages, bytes, size);
    found = mcp_result_tools(&pages, is_wanted, NULL, &tools);
    check(&tools, &array);
    while (jspan_each(array, &cursor, NULL, &tool))
        count++;
    if (count != found.count)
        abort();
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        size_t length = end ? (size_t) (end - bytes) - at : size - at;

        read_answer(bytes + at, length);
        at += length + 1;
    }
    return 0;
}
