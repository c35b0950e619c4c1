/* A line of an MCP client as `hearth mcp` sends it on: one request of HTTP, in
 * which the line has made no header line of its own. What the headers repeat is
 * what the gateway then finds in the body. */
#include "gateway/cli/mcp/mcp_request.h"
#include "gateway/http/mcp/protocol/revision.h"

#include <sodium.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const mcp_place_t place = {.host = (char[]){"h"},
                                  .port = (char[]){"1"},
                                  .path = (char[]){"/mcp"},
                                  .token = (char[]){"t"}};

/* The request, taken apart. */
typedef struct {
    char *lines[LINES_MAX]; /* borrowed from the request; of its head */
    size_t count;
    const char *body; /* likewise */
    size_t body_size;
} request_parts_t;

static void split(buffer_t *request, request_parts_t *ret_parts)
{
    char *text = (char *) request->data, *end, *at;

    buffer_append(request, "", 1);
    text = (char *) request->data;
    end = strstr(text, "\r\n\r\n");
    assert(end);
    ret_parts->body = end + strlen("\r\n\r\n");
    ret_parts->body_size =
        request->size - 1 - (size_t) (ret_parts->body - text);
    end[2] = '\0';
    while ((at = strstr(text, "\r\n"))) {
        *at = '\0';
        assert(ret_parts->count < LINES_MAX);
        ret_parts->lines[ret_parts->count++] = text;
        for (; *text; text++)
            assert(*text >= ' ' && *text <= '~');
        text = at + strlen("\r\n");
    }
    assert(!*text);
}

/* Returns the value of a header; NULL if there is none. It comes once. */
static const char *value_of(const request_parts_t *parts, const char *name)
{
    const char *value = NULL;

    for (size_t i = 1; i < parts->count; i++) {
        if (strncmp(parts->lines[i], name, strlen(name)) != 0)
            continue;
        assert(!value);
        value = parts->lines[i] + strlen(name);
    }
    return value;
}

static void check_head(const request_parts_t *parts)
{
    const char *length = value_of(parts, "Content-Length: ");
    const char *token = value_of(parts, "Authorization: ");

    assert(strcmp(parts->lines[0], "POST /mcp HTTP/1.1") == 0);
    assert(length && strtoull(length, NULL, 10) == parts->body_size);
    assert(token && strcmp(token, "Bearer t") == 0);
}

/* Checks that the gateway finds in the body what the headers say. */
static void check_names(const request_parts_t *parts)
{
    const revision_headers_t headers = {
        .version = value_of(parts, "MCP-Protocol-Version: "),
        .method = value_of(parts, "Mcp-Method: "),
        .name = value_of(parts, "Mcp-Name: ")};
    cleanup_rpc_message rpc_message_t message = {0};
    cleanup_rpc_flaw rpc_flaw_t flaw = {0};

    if (rpc_message_read(parts->body, parts->body_size, &message, &flaw)
        && !revision_check(&message, &headers, &flaw))
        assert(flaw.code != RPC_HEADER_MISMATCH);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const mcp_client_t client = {{0}, {0}};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_auto_t *message =
        json_loadb((const char *) data, size, JSON_REJECT_DUPLICATES, NULL);
    request_parts_t parts = {0};

    assert(sodium_init() >= 0);
    mcp_request_add_key(message);
    mcp_request_write(&place, &client, message, (const char *) data, size,
                      &out);
    split(&out, &parts);
    check_head(&parts);
    check_names(&parts);
    if (!message)
        assert(parts.body_size == size && memcmp(parts.body, data, size) == 0);
    return 0;
}
