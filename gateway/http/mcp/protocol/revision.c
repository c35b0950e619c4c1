/* See revision.h. */
#include "gateway/http/mcp/protocol/revision.h"

#include "base/buffer.h"

#include <sodium.h>

#include <string.h>

#define CODED_BEGIN "=?base64?"
#define CODED_END   "?="

/* Revisions with a handshake, newest first. */
static const char *const legacy[] = {REVISION_LEGACY, "2025-06-18",
                                     "2025-03-26", "2024-11-05"};

static bool is_legacy(const char *version)
{
    for (size_t i = 0; i < sizeof legacy / sizeof *legacy; i++)
        if (strcmp(legacy[i], version) == 0)
            return true;
    return false;
}

era_t revision_era(const rpc_message_t *message,
                   const revision_headers_t *headers)
{
    if (message->kind == RPC_RESPONSE)
        return ERA_LEGACY; /* only clients of these revisions answer requests */
    if (rpc_message_meta(message, META_VERSION))
        return ERA_MODERN;
    return headers->version && !is_legacy(headers->version) ? ERA_MODERN
                                                            : ERA_LEGACY;
}

const char *revision_negotiate(const char *asked)
{
    return asked && is_legacy(asked) ? asked : REVISION_LEGACY;
}

json_t *revision_list(void)
{
    json_t *list = json_pack("[s]", REVISION_NEWEST);

    for (size_t i = 0; i < sizeof legacy / sizeof *legacy; i++)
        json_array_append_new(list, json_string(legacy[i]));
    return list;
}

json_t *revision_capabilities(const rpc_message_t *message)
{
    return rpc_message_meta(message, META_CAPABILITIES);
}

/* --- Header lines --- */

/* Writes the value of a header line without white space at its ends, decoded if
 * it is `=?base64?…?=`. Returns false if a byte is not permitted in a value. */
static bool read_value(const char *text, buffer_t *out)
{
    size_t begin = strspn(text, " \t"), size = strlen(text);
    const size_t frame = strlen(CODED_BEGIN) + strlen(CODED_END);

    while (size > begin && strchr(" \t", text[size - 1]))
        size--;
    text += begin;
    size -= begin;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char) text[i] < ' ' || (unsigned char) text[i] > '~')
            return false;
    if (size < frame || strncmp(text, CODED_BEGIN, strlen(CODED_BEGIN)) != 0
        || strncmp(text + size - strlen(CODED_END), CODED_END,
                   strlen(CODED_END))
               != 0) {
        buffer_append(out, text, size);
        return true;
    }
    size -= frame;
    uint8_t *room = buffer_reserve(out, size);
    if (sodium_base642bin(room, size, text + strlen(CODED_BEGIN), size, NULL,
                          &out->size, NULL, sodium_base64_VARIANT_ORIGINAL)
        != 0)
        return false;
    return true;
}

/* Returns true if the header line agrees with the body. */
static bool matches(const char *line, const char *value, size_t size)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    return line && value && read_value(line, &out) && out.size == size
           && memcmp(out.data ? out.data : (const uint8_t *) "", value, size)
                  == 0;
}

static bool check_line(const char *name, const char *line, const json_t *value,
                       rpc_flaw_t *flaw)
{
    if (matches(line, json_string_value(value), json_string_length(value)))
        return true;
    if (!line)
        return rpc_flaw_set(flaw, 400, RPC_HEADER_MISMATCH,
                            "the header %s is missing; it repeats what the "
                            "body says",
                            name);
    return rpc_flaw_set(flaw, 400, RPC_HEADER_MISMATCH,
                        "the header %s is not what the body says", name);
}

/* Returns the member of the params that Mcp-Name repeats; NULL if there is
 * none. */
static const char *name_member(const char *method)
{
    static const struct {
        const char *method, *member;
    } names[] = {
        {"tools/call", "name"},     {"prompts/get", "name"},
        {"resources/read", "uri"},  {"tasks/get", "taskId"},
        {"tasks/update", "taskId"}, {"tasks/cancel", "taskId"},
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i].method, method) == 0)
            return names[i].member;
    return NULL;
}

static bool check_names(const rpc_message_t *message,
                        const revision_headers_t *headers, rpc_flaw_t *flaw)
{
    const char *member = name_member(message->method);
    const json_t *name =
        member ? json_object_get(message->params, member) : NULL;

    if (!check_line("Mcp-Method", headers->method,
                    json_object_get(message->root, "method"), flaw))
        return false;
    if (!member || !json_is_string(name))
        return true; /* the method itself reports what is missing */
    return check_line("Mcp-Name", headers->name, name, flaw);
}

/* --- Rules of 2026-07-28 --- */

static bool check_version(const json_t *version, rpc_flaw_t *flaw)
{
    if (strcmp(json_string_value(version), REVISION_NEWEST) == 0)
        return true;
    flaw->data = json_pack("{s:o,s:O}", "supported", revision_list(),
                           "requested", version);
    return rpc_flaw_set(flaw, 400, RPC_UNSUPPORTED_VERSION,
                        "this revision of the protocol is not spoken here");
}

static bool check_modern(const rpc_message_t *message,
                         const revision_headers_t *headers, rpc_flaw_t *flaw)
{
    const json_t *version = rpc_message_meta(message, META_VERSION);

    if (!json_is_string(version))
        return rpc_flaw_set(flaw, 400, RPC_INVALID_PARAMS,
                            "params._meta must have " META_VERSION ", a text");
    if (!headers->version)
        return check_line("MCP-Protocol-Version", NULL, NULL, flaw);
    if (!check_line("MCP-Protocol-Version", headers->version, version, flaw)
        || !check_version(version, flaw))
        return false;
    if (!json_is_object(revision_capabilities(message)))
        return rpc_flaw_set(flaw, 400, RPC_INVALID_PARAMS,
                            "params._meta must have " META_CAPABILITIES
                            ", an object");
    return check_names(message, headers, flaw);
}

/* Checks requests of earlier revisions, which have fewer rules: a named version
 * must be known. */
static bool check_legacy(const revision_headers_t *headers, rpc_flaw_t *flaw)
{
    if (!headers->version || is_legacy(headers->version))
        return true;
    return rpc_flaw_set(flaw, 400, RPC_INVALID_REQUEST,
                        "the MCP-Protocol-Version %.40s is not spoken here",
                        headers->version);
}

bool revision_check(const rpc_message_t *message,
                    const revision_headers_t *headers, rpc_flaw_t *ret_flaw)
{
    if (revision_era(message, headers) == ERA_LEGACY)
        return check_legacy(headers, ret_flaw);
    if (message->kind == RPC_NOTIFICATION)
        return true;
    return check_modern(message, headers, ret_flaw);
}
