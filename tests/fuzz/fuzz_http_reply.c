/* Invented answers of a gateway to `hearth mcp`. The same messages come out
 * however the bytes are cut, and each may be of a subscription. What the client
 * gets in the place of a second acknowledgement are lines of JSON. */
#include "gateway/cli/client/http_reply.h"
#include "gateway/cli/mcp/mcp_listen.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_lines(const buffer_t *lines)
{
    for (size_t at = 0; at < lines->size;) {
        const uint8_t *end = memchr(lines->data + at, '\n', lines->size - at);
        size_t length = end ? (size_t) (end - lines->data) - at : 0;
        json_auto_t *line =
            json_loadb((const char *) lines->data + at, length,
                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);

        if (!json_is_string(json_object_get(line, "method")))
            abort();
        at += length + 1;
    }
}

/* Has the subscription end after each message. */
static void listen_to(mcp_listen_t *listen, const json_t *request,
                      const buffer_t *text)
{
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;
    json_auto_t *message =
        json_loadb((const char *) text->data, text->size, 0, NULL);

    if (mcp_listen_take(listen, request, message, &lines))
        check_lines(&lines);
    else if (lines.size)
        abort();
    if (mcp_listen_lose(listen) != (listen->accepted != NULL))
        abort();
}

/* Feeds the answer in pieces. Returns false if it is refused. The messages are
 * appended to `out`, each with its size. */
static bool read_all(const uint8_t *bytes, size_t size, size_t piece,
                     buffer_t *out)
{
    cleanup_http_reply http_reply_t reply = {0};
    CLEANUP(mcp_listen_clear) mcp_listen_t listen = {0};
    json_auto_t *request =
        json_pack("{s:s,s:s,s:{s:{s:s}}}", "id", "l", "method",
                  "subscriptions/listen", "params", "_meta",
                  "io.modelcontextprotocol/protocolVersion", "2026-07-28");

    for (size_t at = 0; at < size; at += piece) {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;
        size_t length = size - at < piece ? size - at : piece;

        if (http_reply_feed(&reply, bytes + at, length) < 0)
            return false;
        if (reply.status && (reply.status < 200 || reply.status > 599))
            abort();
        while (http_reply_next(&reply, &text)) {
            listen_to(&listen, request, &text);
            buffer_format(out, "%zu ", text.size);
            buffer_append(out, text.data, text.size);
            buffer_clear(&text);
        }
        if (reply.is_over)
            break; /* the connection is closed */
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;

    if (!read_all(bytes, size, size ? size : 1, &whole))
        return 0;
    for (size_t piece = 1; piece <= 7; piece += 6) {
        cleanup_buffer buffer_t cut = BUFFER_EMPTY;

        if (!read_all(bytes, size, piece, &cut) || cut.size != whole.size
            || (cut.size && memcmp(cut.data, whole.data, cut.size) != 0))
            abort();
    }
    return 0;
}
