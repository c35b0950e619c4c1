/* See tool_server_url.h. What is read here is written into a request as it is:
 * so no value may end a line of it. */
#include "gateway/config/tool_server_url.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/config/option_syntax.h"
#include "gateway/config/tool_server_variables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define URL_MAX     2000 /* bytes */
#define VALUE_MAX   8192 /* bytes of a header's */
#define HEADERS_MAX 32
/* what to do about a value that others can read */
#define PRIVATE                                                                \
    "let the gateway's user own it, with mode 600, or write ${NAME} and set "  \
    "that variable"
#define TOKEN_CHARACTERS                                                       \
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"           \
    "!#$%&'*+-.^_`|~"

static const char *text_of(const json_t *entry, const char *key)
{
    return json_string_value(json_object_get(entry, key));
}

/* Values of `type`, in the spellings that clients have. */
static const char *const http[] = {"http", "streamable-http", "streamableHttp",
                                   NULL};

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (strcasecmp(text, *list) == 0)
            return true;
    return false;
}

bool tool_server_url_is(const json_t *entry)
{
    const char *type = text_of(entry, "type");

    if (json_object_get(entry, "url"))
        return true;
    return type && strcmp(type, "stdio") != 0
           && (is_one_of(type, http) || strcasecmp(type, "sse") == 0
               || !json_object_get(entry, "command"));
}

/* ---- its kind ---- */

static int check_kind(const char *name, const json_t *entry, fault_t *fault)
{
    static const char *const of_programs[] = {"command", "args", "env", NULL};
    const json_t *type = json_object_get(entry, "type");
    const char *text = json_string_value(type);

    if (text && strcasecmp(text, "sse") == 0)
        return fault_set(fault, EINVAL,
                         "%s: `type` \"sse\" is a transport that MCP has given "
                         "up; name the server's endpoint of streamable HTTP, "
                         "which often ends with /mcp, with `type` \"http\"",
                         name);
    if (type && (!text || !is_one_of(text, http)))
        return fault_set(fault, EINVAL,
                         "%s: `type` must be \"http\", \"streamable-http\" or, "
                         "for a program, \"stdio\"",
                         name);
    for (const char *const *key = of_programs; *key; key++)
        if (json_object_get(entry, *key))
            return fault_set(fault, EINVAL,
                             "%s: `%s` is for a program; a server with a "
                             "`url` has `headers`",
                             name, *key);
    return 0;
}

/* ---- the URL ---- */

/* Returns true if that place, HOST or HOST:PORT, is this machine. */
static bool is_loopback(const char *place)
{
    size_t size =
        *place == '[' ? strcspn(place, "]") + 1 : strcspn(place, ":/?");
    cleanup_free char *host = mem_copy(place, size);

    return strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0
           || (strncmp(host, "127.", 4) == 0 && option_is_address(host));
}

/* Returns the size of the origin that begins it; 0 if it has no scheme. */
static size_t origin_size(const char *text)
{
    const char *host = strstr(text, "://");

    return host ? (size_t) (host + 3 - text) + strcspn(host + 3, "/?#") : 0;
}

/* Returns true if it is a URL of http or https with a host, and without a user
 * and a fragment. */
static bool is_url(const char *text)
{
    size_t size = origin_size(text);

    if (!size || strlen(text) > URL_MAX)
        return false;
    cleanup_free char *origin = mem_copy(text, size);

    for (const char *at = text + size; *at; at++)
        if (*at <= ' ' || *at >= 0x7F || strchr("#\\\"<>", *at))
            return false;
    return option_is_index(origin);
}

/* Returns true if what follows the last colon of the origin is a number that no
 * port has. */
static bool has_wrong_port(const char *origin)
{
    const char *port = strrchr(origin, ':') + 1;
    long number = strtol(port, NULL, 10);

    return *port && !port[strspn(port, "0123456789")]
           && (number < 1 || number > 65535);
}

/* Returns what is wrong with a text that is no URL. */
static const char *find_url_flaw(const char *text)
{
    size_t size = origin_size(text);
    cleanup_free char *origin = mem_copy(text, size);

    for (size_t i = 0; i < size; i++)
        if ((unsigned char) origin[i] >= 0x80)
            return "has a host that is not ASCII; write its name in the form "
                   "that begins with xn--";
    if (size && strncasecmp(text, "http", 4) == 0
        && strncmp(text, "http:", 5) != 0 && strncmp(text, "https:", 6) != 0)
        return "has a scheme in upper case, or none of http and https; write "
               "https://";
    if (size && has_wrong_port(origin))
        return "has a port that is not 1 to 65535";
    return "must be https://HOST, perhaps with a port, a path and a query, "
           "without user and fragment, of at most 2000 characters";
}

static int check_url_place(const char *name, const json_t *entry,
                           const char *url, fault_t *fault)
{
    const json_t *permits = json_object_get(entry, "allowHttp");

    if (permits && !json_is_boolean(permits))
        return fault_set(fault, EINVAL, "%s: `allowHttp` must be true or false",
                         name);
    if (strncmp(url, "http:", 5) == 0 && !json_is_true(permits)
        && !is_loopback(url + 7))
        return fault_set(fault, EINVAL,
                         "%s: `url` is http, by which others can read its keys "
                         "and change its answers; use https, or add "
                         "\"allowHttp\": true if the network is yours",
                         name);
    return 0;
}

/* Appends the URL. */
static int read_url(const char *name, const json_t *entry, bool is_private,
                    buffer_t *url, char **missing, fault_t *fault)
{
    const char *text = text_of(entry, "url");
    const char *query = text ? strchr(text, '?') : NULL;
    cleanup_buffer buffer_t ignored = BUFFER_EMPTY;

    if (!text)
        return fault_set(fault, EINVAL,
                         "%s: `url` is missing, or is no text; it is the "
                         "server's endpoint of streamable HTTP",
                         name);
    buffer_text(url, "");
    tool_server_expand(text, url, missing);
    if (!is_url((const char *) url->data) && *missing)
        return fault_set(fault, EINVAL,
                         "%s: `url` names the variable %.80s, which is not set "
                         "here",
                         name, *missing);
    if (!is_url((const char *) url->data))
        return fault_set(fault, EINVAL, "%s: `url` %s", name,
                         find_url_flaw((const char *) url->data));
    if (query && query[1] && !is_private
        && !tool_server_expand(query, &ignored, missing))
        return fault_set(fault, EINVAL,
                         "%s: other users can read the file, and so the query "
                         "of `url`; " PRIVATE,
                         name);
    return check_url_place(name, entry, (const char *) url->data, fault);
}

/* ---- the headers ---- */

static bool is_value(const buffer_t *value)
{
    for (size_t i = 0; i < value->size; i++)
        if (value->data[i] < ' ' || value->data[i] >= 0x7F)
            return false;
    return value->size <= VALUE_MAX;
}

static int check_name(const char *name, const char *header, fault_t *fault)
{
    static const char *const own[] = {
        "accept",         "accept-encoding", "connection",
        "content-length", "content-type",    "expect",
        "host",           "last-event-id",   "transfer-encoding",
        "upgrade",        "user-agent",      NULL};

    if (!*header || header[strspn(header, TOKEN_CHARACTERS)])
        return fault_set(fault, EINVAL,
                         "%s: `headers` has a name that no header can have",
                         name);
    if (is_one_of(header, own) || strncasecmp(header, "mcp-", 4) == 0)
        return fault_set(fault, EINVAL,
                         "%s: `headers` has %.40s, which hearth sends itself",
                         name, header);
    return 0;
}

static bool has_header(const json_t *list, const char *header)
{
    const json_t *pair;
    size_t i;

    json_array_foreach(list, i, pair)
    {
        if (strcasecmp(json_string_value(json_array_get(pair, 0)), header) == 0)
            return true;
    }
    return false;
}

/* Adds [NAME, VALUE] to the list. Returns 1 if the value names a variable, else
 * 0; -EINVAL if no header can have it. */
static int read_value(const char *header, const json_t *text, json_t *list,
                      char **missing)
{
    cleanup_buffer buffer_t value = BUFFER_EMPTY;
    bool has_variable;

    if (!json_is_string(text))
        return -EINVAL;
    buffer_text(&value, "");
    has_variable = tool_server_expand(json_string_value(text), &value, missing);
    if (!is_value(&value))
        return -EINVAL;
    json_array_append_new(list,
                          json_pack("[s,s%]", header, value.data, value.size));
    return has_variable;
}

static int read_headers(const char *name, const json_t *entry, bool is_private,
                        json_t *list, char **missing, fault_t *fault)
{
    json_t *headers = json_object_get(entry, "headers"), *text;
    const char *header;
    int r;

    if (headers
        && (!json_is_object(headers)
            || json_object_size(headers) > HEADERS_MAX))
        return fault_set(fault, EINVAL,
                         "%s: `headers` must be an object of at most %d texts",
                         name, HEADERS_MAX);
    json_object_foreach(headers, header, text)
    {
        if ((r = check_name(name, header, fault)) < 0)
            return r;
        if (has_header(list, header))
            return fault_set(fault, EINVAL,
                             "%s: `headers` has %.40s twice; upper and lower "
                             "case are the same",
                             name, header);
        r = read_value(header, text, list, missing);
        if (r < 0)
            return fault_set(fault, EINVAL,
                             "%s: the header %.40s must be a text of printable "
                             "ASCII, at most %d characters",
                             name, header, VALUE_MAX);
        if (!r && !is_private)
            return fault_set(fault, EINVAL,
                             "%s: other users can read the file, and so the "
                             "header %.40s; " PRIVATE,
                             name, header);
    }
    return 0;
}

int tool_server_url_read(const char *name, const json_t *entry, bool is_private,
                         char **ret_description, char **missing, fault_t *fault)
{
    cleanup_buffer buffer_t url = BUFFER_EMPTY;
    json_auto_t *list = json_array();
    json_auto_t *description = NULL;
    int r;

    if ((r = check_kind(name, entry, fault)) < 0)
        return r;
    r = read_url(name, entry, is_private, &url, missing, fault);
    if (r < 0)
        return r;
    r = read_headers(name, entry, is_private, list, missing, fault);
    if (r < 0)
        return r;
    description = json_pack("{s:s,s:s,s:O,s:s*}", "name", name, "url", url.data,
                            "headers", list, "missing", *missing);
    *ret_description = json_dumps(description, JSON_COMPACT);
    return 0;
}
