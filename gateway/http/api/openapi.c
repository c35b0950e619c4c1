/* See openapi.h. */
#include "gateway/http/api/openapi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINK "#/components/responses/%d"

/* Answers that come before a route runs, or are common to all routes. */
static const struct {
    int status;
    bool is_scoped; /* not if no token is required */
} everywhere[] = {
    {400, false}, {401, true}, {403, false}, {404, false},
    {413, false}, {500, true}, {501, false}, {503, false},
};

/* --- Paths --- */

/* Makes "session" of "sessions", "process" of "processes", "fetch" of
 * "fetches", and "sandbox" of "sandboxes". */
static void cut_plural(char *word)
{
    size_t size = strlen(word);
    bool is_long = size > 4
                   && (strcmp(word + size - 4, "sses") == 0
                       || strcmp(word + size - 3, "hes") == 0
                       || strcmp(word + size - 3, "xes") == 0);

    if (size && word[size - 1] == 's')
        word[size - (is_long ? 2 : 1)] = '\0';
}

/* Writes "/api/kernels/{kernel}/restart" for "/api/kernels/{}/restart". The
 * names are the segments before them, in the singular. */
static void write_path(const char *pattern, buffer_t *out, json_t *parameters)
{
    char word[64] = "";

    while (*pattern) {
        size_t size = strcspn(pattern + 1, "/") + 1;
        bool is_hole = pattern[1] == '{';
        if (is_hole && pattern[2] == '*')
            snprintf(word, sizeof word, "path");
        else if (is_hole && !*word)
            snprintf(word, sizeof word, "file");
        if (is_hole) {
            buffer_format(out, "/{%s}", word);
            json_array_append_new(parameters,
                                  json_pack("{s:s,s:s,s:b,s:{s:s}}", "name",
                                            word, "in", "path", "required", 1,
                                            "schema", "type", "string"));
            *word = '\0';
        } else {
            buffer_append(out, pattern, size);
            snprintf(word, sizeof word, "%.*s", (int) size - 1, pattern + 1);
            cut_plural(word);
        }
        pattern += size;
    }
}

/* Returns the member of that name, lent; adds an empty object if it is
 * missing. */
static json_t *member(json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);

    if (!value) {
        value = json_object();
        json_object_set_new(object, name, value);
    }
    return value;
}

static void add_answers(json_t *responses, const route_t *route)
{
    for (size_t i = 0; i < sizeof everywhere / sizeof *everywhere; i++) {
        char status[8], link[64];
        snprintf(status, sizeof status, "%d", everywhere[i].status);
        snprintf(link, sizeof link, LINK, everywhere[i].status);
        if (json_object_get(responses, status)
            || (everywhere[i].is_scoped && route->scope == SCOPE_NONE))
            continue;
        json_object_set_new(responses, status,
                            json_pack("{s:s}", "$ref", link));
    }
}

static void add_route(json_t *paths, const route_t *route)
{
    cleanup_buffer buffer_t path = BUFFER_EMPTY;
    json_auto_t *parameters = json_array();
    char method[16] = "";

    write_path(route->pattern, &path, parameters);
    const char *text = method_text(route->method);
    for (size_t i = 0; text[i] && i + 1 < sizeof method; i++)
        method[i] = (char) (text[i] | 0x20);
    json_t *operation = member(member(paths, (const char *) path.data), method);
    json_array_extend(parameters, json_object_get(operation, "parameters"));
    json_object_set(operation, "parameters", parameters);
    add_answers(member(operation, "responses"), route);
    if (route->scope == SCOPE_NONE)
        json_object_set_new(operation, "security", json_array());
    json_object_set_new(operation, "x-scope", token_scopes_names(route->scope));
}

/* --- Errors --- */

/* Returns the schema of {"message","reason"}, as exchange_fail has them, the
 * "ename" of exchange_fail_by, and E2B's "code". */
static json_t *refusal_schema(int status)
{
    return json_pack(
        "{s:s,s:[s,s],s:{s:{s:s,s:i},s:{s:s,s:[s]},s:{s:s,s:s},s:{}}}", "type",
        "object", "required", "message", "reason", "properties", "message",
        "type", "string", "minLength", 1, "reason", "type", "string", "enum",
        status_text(status), "ename", "type", "string", "description",
        "The error's name, if a session or what manages sessions refused it",
        "code");
}

/* Gives the common schema to a refusal that is only named by its status. */
static void fill_refusals(json_t *responses)
{
    const char *name;
    json_t *response;

    json_object_foreach(responses, name, response)
    {
        if (!json_object_get(response, "content"))
            json_object_set_new(
                response, "content",
                json_pack("{s:{s:o}}", "application/json", "schema",
                          refusal_schema((int) strtol(name, NULL, 10))));
    }
}

/* Adds the paths and components of each file to an empty object. */
static void add_parts(json_t *document)
{
    json_auto_t *parts = json_loadb(openapi_parts, openapi_parts_size, 0, NULL);
    const char *kind;
    json_t *part, *named;
    size_t i;

    assert(parts); /* tests/unit/http/api/test_openapi.c parses it */
    json_array_foreach(parts, i, part)
    {
        json_object_update(member(document, "paths"),
                           json_object_get(part, "paths"));
        json_object_foreach(json_object_get(part, "components"), kind, named)
        {
            json_object_update(member(member(document, "components"), kind),
                               named);
        }
    }
}

json_t *openapi_document(const char *base, route_each_fn *each)
{
    json_auto_t *written = json_object();
    json_t *paths, *components;
    size_t cursor = 0;

    add_parts(written);
    paths = json_object_get(written, "paths");
    components = json_object_get(written, "components");
    for (const route_t *at = each(&cursor); at; at = each(&cursor))
        add_route(paths, at);
    fill_refusals(json_object_get(components, "responses"));
    return json_pack(
        "{s:s,s:{s:s,s:s,s:s},s:[{s:s}],s:[{s:[]},{s:[]}],s:O,s:O}", "openapi",
        "3.0.3", "info", "title", "hearth", "version", HEARTH_VERSION,
        "description",
        "Jupyter's REST interface, and hearth's own below "
        "/hearth/. What has GET has HEAD, and every path OPTIONS, "
        "which needs no token. x-scope names the scopes one of "
        "which a token must have.",
        "servers", "url", *base ? base : "/", "security", "bearer", "query",
        "paths", paths, "components", components);
}
