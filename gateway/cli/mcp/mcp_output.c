/* See mcp_output.h. */
#include "gateway/cli/mcp/mcp_output.h"

#include "base/buffer.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* Waits until the client reads, if standard output does not block, which is the
 * client's choice. */
static bool may_write_again(int error)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};

    if (error == EAGAIN)
        (void) poll(&out, 1, -1);
    return error == EAGAIN || error == EINTR;
}

void mcp_output_lines(const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    while (size) {
        ssize_t sent = write(STDOUT_FILENO, at, size);
        if (sent < 0 && may_write_again(errno))
            continue;
        if (sent < 0)
            return;
        at += sent;
        size -= (size_t) sent;
    }
}

void mcp_output_message(const void *bytes, size_t size)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;

    buffer_append(&line, bytes, size);
    buffer_text(&line, "\n");
    mcp_output_lines(line.data, line.size);
}

void mcp_output_error(const json_t *message, const char *text)
{
    json_t *id = json_object_get(message, "id");

    if (!id || !json_object_get(message, "method"))
        return;
    json_auto_t *answer =
        json_pack("{s:s,s:O,s:{s:i,s:s}}", "jsonrpc", "2.0", "id", id, "error",
                  "code", -32603, "message", text);
    cleanup_free char *dumped = json_dumps(answer, JSON_COMPACT);
    mcp_output_message(dumped, strlen(dumped));
}
