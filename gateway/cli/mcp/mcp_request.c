/* See mcp_request.h. */
#include "gateway/cli/mcp/mcp_request.h"

#include <sodium.h>

#include <string.h>

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_KEY     "hearth/key"

static const char *text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

void mcp_request_add_key(json_t *message)
{
    const char *method = text(message, "method");
    json_t *params = json_object_get(message, "params");
    json_t *meta = json_object_get(params, "_meta");
    uint8_t random[16];
    char key[2 * sizeof random + 1];

    if (!method || strcmp(method, "tools/call") != 0 || !json_is_object(params))
        return;
    if (!meta) {
        meta = json_object();
        json_object_set_new(params, "_meta", meta);
    }
    if (!json_is_object(meta) || json_object_get(meta, META_KEY))
        return;
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(key, sizeof key, random, sizeof random);
    json_object_set_new(meta, META_KEY, json_string(key));
}

static const char *version_of(const json_t *message)
{
    return text(json_object_get(json_object_get(message, "params"), "_meta"),
                META_VERSION);
}

bool mcp_request_is_modern(const json_t *message)
{
    return version_of(message) != NULL;
}

bool mcp_request_is_cancellation(const json_t *message)
{
    const char *method = text(message, "method");

    return method && strcmp(method, "notifications/cancelled") == 0;
}

/* Writes a header line; a value that is no plain text in base64. */
static void write_header(const char *name, const char *value, buffer_t *out)
{
    bool is_plain = *value && *value != ' ' && value[strlen(value) - 1] != ' '
                    && strncmp(value, "=?base64?", 9) != 0;
    size_t size = strlen(value);

    for (const char *at = value; *at; at++)
        is_plain = is_plain && *at >= ' ' && *at <= '~';
    if (is_plain) {
        buffer_format(out, "%s: %s\r\n", name, value);
        return;
    }
    size_t room =
        sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL);
    cleanup_free char *coded = mem_new(room);
    sodium_bin2base64(coded, room, (const uint8_t *) value, size,
                      sodium_base64_VARIANT_ORIGINAL);
    buffer_format(out, "%s: =?base64?%s?=\r\n", name, coded);
}

/* Returns the member of the params that Mcp-Name repeats, by the method: params
 * may have members of other methods as well. */
static const char *name_member(const char *method)
{
    if (strncmp(method, "resources/", strlen("resources/")) == 0)
        return "uri";
    return strncmp(method, "tasks/", strlen("tasks/")) == 0 ? "taskId" : "name";
}

static void write_names(const json_t *message, buffer_t *out)
{
    const char *method = text(message, "method");
    const char *name;

    if (!method)
        return;
    write_header("Mcp-Method", method, out);
    name = text(json_object_get(message, "params"), name_member(method));
    if (name)
        write_header("Mcp-Name", name, out);
}

/* Writes the first lines of any request. */
static void begin(const char *method, const char *accept,
                  const mcp_place_t *place, buffer_t *out)
{
    bool is_six = strchr(place->host, ':');

    buffer_format(out,
                  "%s %s HTTP/1.1\r\nHost: %s%s%s:%s\r\nConnection: close\r\n"
                  "Accept: %s\r\n",
                  method, place->path, is_six ? "[" : "", place->host,
                  is_six ? "]" : "", place->port, accept);
    if (place->token)
        buffer_format(out, "Authorization: Bearer %s\r\n", place->token);
}

/* Writes a header whose value may not be known yet, or never. */
static void write_known(const char *name, const char *value, buffer_t *out)
{
    if (*value)
        write_header(name, value, out);
}

static void write_plain(const char *method, const char *accept,
                        const mcp_place_t *place, const mcp_client_t *client,
                        buffer_t *out)
{
    begin(method, accept, place, out);
    write_known("MCP-Protocol-Version", client->version, out);
    write_known("Mcp-Session-Id", client->session, out);
    buffer_text(out, "\r\n");
}

void mcp_request_write_get(const mcp_place_t *place, const mcp_client_t *client,
                           buffer_t *out)
{
    write_plain("GET", "text/event-stream", place, client, out);
}

void mcp_request_write_delete(const mcp_place_t *place,
                              const mcp_client_t *client, buffer_t *out)
{
    write_plain("DELETE", "application/json", place, client, out);
}

void mcp_request_write(const mcp_place_t *place, const mcp_client_t *client,
                       const json_t *message, const char *line, size_t size,
                       buffer_t *out)
{
    cleanup_free char *dumped =
        message ? json_dumps(message, JSON_COMPACT) : NULL;

    if (dumped) {
        line = dumped;
        size = strlen(dumped);
    }
    begin("POST", "application/json, text/event-stream", place, out);
    buffer_format(
        out, "Content-Type: application/json\r\nContent-Length: %zu\r\n", size);
    if (mcp_request_is_modern(message)) {
        write_header("MCP-Protocol-Version", version_of(message), out);
        write_names(message, out);
    } else {
        write_known("MCP-Protocol-Version", client->version, out);
    }
    write_known("Mcp-Session-Id", client->session, out);
    buffer_text(out, "\r\n");
    buffer_append(out, line, size);
}
