/* /api/spec.yaml: the table of routes as OpenAPI 3, in JSON, which is YAML.
 * Every route stands in it because it is made of the table; what their answers
 * look like is said here. */
#include "gateway/http/models.h"
#include "gateway/http/routes.h"

#include <string.h>

/* What an answer holds; a route that is not named here is described by its
 * path alone. */
static const struct {
    unsigned method;
    const char *pattern;
    const char *summary;
    int status;
    const char *schema; /* of components; NULL: no JSON */
} answers[] = {
    {METHOD_GET, "/api", "The gateway's version", 200, "Version"},
    {METHOD_GET, "/api/status", "How much is going on", 200, "Status"},
    {METHOD_GET, "/api/me", "Who asks, and what he may", 200, "Me"},
    {METHOD_GET, "/api/spec.yaml", "This document", 200, NULL},
    {METHOD_GET, "/metrics", "Figures for Prometheus", 200, NULL},
    {METHOD_GET, "/api/kernelspecs", "The profiles", 200, "KernelSpecs"},
    {METHOD_GET, "/api/kernelspecs/{}", "A profile", 200, "KernelSpec"},
    {METHOD_GET, "/kernelspecs/{}/{}", "A file of a profile", 200, NULL},
    {METHOD_GET, "/api/kernels", "The kernels that live", 200, "Kernels"},
    {METHOD_POST, "/api/kernels", "Makes a session", 201, "Kernel"},
    {METHOD_GET, "/api/kernels/{}", "A kernel", 200, "Kernel"},
    {METHOD_DELETE, "/api/kernels/{}", "Ends a session", 204, NULL},
    {METHOD_POST, "/api/kernels/{}/interrupt", "Interrupts", 204, NULL},
    {METHOD_POST, "/api/kernels/{}/restart", "A fresh kernel", 200, "Kernel"},
    {METHOD_GET, "/api/sessions", "Documents and their kernels", 200,
     "Sessions"},
    {METHOD_POST, "/api/sessions", "A document and its kernel", 201, "Session"},
    {METHOD_GET, "/api/sessions/{}", "A document and its kernel", 200,
     "Session"},
    {METHOD_PATCH, "/api/sessions/{}", "Changes path, name, kernel", 200,
     "Session"},
    {METHOD_DELETE, "/api/sessions/{}", "Ends both", 204, NULL},
    {METHOD_GET, "/hearth/gateway", "The gateway and its profiles", 200,
     "Gateway"},
    {METHOD_POST, "/api/shutdown", "Ends the gateway", 200, "Nothing"},
    {METHOD_GET, "/hearth/tokens", "The tokens that were made", 200, "Tokens"},
    {METHOD_POST, "/hearth/tokens", "Makes a token, told this once", 201,
     "Token"},
    {METHOD_DELETE, "/hearth/tokens/{}", "Takes a token back", 204, NULL},
    {METHOD_GET, "/hearth/sessions/{}", "A session; 410 when it is gone", 200,
     "HearthSession"},
    {METHOD_POST, "/hearth/sessions/{}/keepalive", "Puts its timeout off", 200,
     "HearthSession"},
    {METHOD_POST, "/hearth/sessions/{}/notes", "A note for its notebook", 201,
     "HearthSession"},
    {METHOD_GET, "/hearth/sessions/{}/events",
     "Records behind a cursor, one a line", 200, NULL},
    {METHOD_GET, "/hearth/sessions/{}/events/{}", "A record", 200, "Record"},
    {METHOD_GET, "/api/contents", "Recordings and workspaces", 200, "Contents"},
    {METHOD_GET, "/api/contents/{*}", "A file, a folder, or its checkpoints",
     200, NULL},
    {METHOD_POST, "/api/contents/{*}",
     "A new file, a copy, a checkpoint (with its id: 204)", 201, NULL},
    {METHOD_PUT, "/api/contents/{*}", "Saves; 201 when it was not there", 200,
     "Contents"},
    {METHOD_PATCH, "/api/contents/{*}", "Renames", 200, "Contents"},
    {METHOD_DELETE, "/api/contents/{*}", "Removes a file or a checkpoint", 204,
     NULL},
    {METHOD_GET, "/files/{*}", "A file's bytes, or a range of them", 200, NULL},
    {METHOD_POST, "/api/kernels/{}/execute", "Runs code", 202, "Run"},
    {METHOD_GET, "/api/kernels/{}/execute", "Runs that are pending", 200,
     "Runs"},
    {METHOD_GET, "/api/kernels/{}/requests/{}", "What became of a run", 200,
     "Run"},
    {METHOD_POST, "/api/kernels/{}/input", "Answers a run's question", 201,
     NULL},
};

/* Each a schema by its name; a string has 4095 characters at most. */
static const char *const schemas[] = {
    "{\"Contents\":{\"type\":\"object\",\"required\":[\"name\","
    "\"path\",\"type\",\"writable\",\"created\",\"last_modified\","
    "\"mimetype\",\"content\",\"format\"],\"properties\":{\"name\":{"
    "\"type\":\"string\"},\"path\":{\"type\":\"string\"},\"type\":{"
    "\"type\":\"string\",\"enum\":[\"directory\",\"file\","
    "\"notebook\"]},\"writable\":{\"type\":\"boolean\"},\"created\":{"
    "\"type\":\"string\",\"format\":\"date-time\"},\"last_modified\":{"
    "\"type\":\"string\",\"format\":\"date-time\"}}}}",
    "{\"Nothing\":{\"type\":\"object\",\"maxProperties\":0}}",
    "{\"Gateway\":{\"type\":\"object\",\"required\":[\"version\","
    "\"pid\",\"profiles\",\"sessions\",\"counted\"]}}",
    "{\"Token\":{\"type\":\"object\",\"required\":[\"id\",\"name\","
    "\"scopes\"],\"properties\":{\"id\":{\"type\":\"string\"},"
    "\"name\":{\"type\":\"string\"},\"token\":{\"type\":\"string\"},"
    "\"created\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"scopes\":{\"type\":\"array\",\"items\":{\"type\":\"string\","
    "\"enum\":[\"observe\",\"execute\",\"files\",\"admin\"]}}}}}",
    "{\"Tokens\":{\"type\":\"array\",\"items\":{"
    "\"$ref\":\"#/components/schemas/Token\"}}}",
    "{\"Error\":{\"type\":\"object\",\"required\":[\"message\","
    "\"reason\"],\"properties\":{\"message\":{\"type\":\"string\"},"
    "\"reason\":{\"type\":\"string\"}}}}",
    "{\"Version\":{\"type\":\"object\",\"required\":[\"version\"],"
    "\"properties\":{\"version\":{\"type\":\"string\"},\"server\":{"
    "\"type\":\"string\"}}}}",
    "{\"Status\":{\"type\":\"object\",\"required\":[\"started\","
    "\"last_activity\",\"kernels\",\"connections\"],\"properties\":{"
    "\"started\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"last_activity\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"kernels\":{\"type\":\"integer\"},\"connections\":{"
    "\"type\":\"integer\"}}}}",
    "{\"Me\":{\"type\":\"object\",\"required\":[\"identity\","
    "\"permissions\"],\"properties\":{\"identity\":{"
    "\"type\":\"object\"},\"permissions\":{\"type\":\"object\"},"
    "\"scopes\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}}}",
    "{\"KernelSpec\":{\"type\":\"object\",\"required\":[\"name\","
    "\"spec\",\"resources\"],\"properties\":{\"name\":{"
    "\"type\":\"string\"},\"spec\":{\"type\":\"object\","
    "\"required\":[\"argv\",\"display_name\",\"language\"]},"
    "\"resources\":{\"type\":\"object\"}}}}",
    "{\"KernelSpecs\":{\"type\":\"object\",\"required\":[\"default\","
    "\"kernelspecs\"],\"properties\":{\"default\":{"
    "\"type\":\"string\"},\"kernelspecs\":{\"type\":\"object\","
    "\"additionalProperties\":{"
    "\"$ref\":\"#/components/schemas/KernelSpec\"}}}}}",
    "{\"Kernel\":{\"type\":\"object\",\"required\":[\"id\",\"name\","
    "\"last_activity\",\"execution_state\",\"connections\"],"
    "\"properties\":{\"id\":{\"type\":\"string\",\"format\":\"uuid\"},"
    "\"name\":{\"type\":\"string\"},\"last_activity\":{"
    "\"type\":\"string\",\"format\":\"date-time\"},"
    "\"execution_state\":{\"type\":\"string\",\"enum\":[\"starting\","
    "\"idle\",\"busy\",\"terminating\",\"restarting\",\"dead\"]},"
    "\"connections\":{\"type\":\"integer\",\"minimum\":0},\"reason\":{"
    "\"type\":\"string\"}}}}",
    "{\"Kernels\":{\"type\":\"array\",\"items\":{"
    "\"$ref\":\"#/components/schemas/Kernel\"}}}",
    "{\"Session\":{\"type\":\"object\",\"required\":[\"id\",\"path\","
    "\"name\",\"type\",\"kernel\"],\"properties\":{\"id\":{"
    "\"type\":\"string\"},\"path\":{\"type\":\"string\"},\"name\":{"
    "\"type\":\"string\"},\"type\":{\"type\":\"string\"},\"kernel\":{"
    "\"$ref\":\"#/components/schemas/Kernel\"}}}}",
    "{\"Sessions\":{\"type\":\"array\",\"items\":{"
    "\"$ref\":\"#/components/schemas/Session\"}}}",
    "{\"HearthSession\":{\"type\":\"object\",\"required\":[\"id\","
    "\"state\",\"profile\",\"created\"],\"properties\":{\"id\":{"
    "\"type\":\"string\"},\"state\":{\"type\":\"string\","
    "\"enum\":[\"starting\",\"idle\",\"busy\",\"stopping\",\"gone\"]},"
    "\"profile\":{\"type\":\"string\"},\"created\":{"
    "\"type\":\"string\",\"format\":\"date-time\"},\"reason\":{"
    "\"type\":\"string\"},\"detail\":{\"type\":\"string\"}}}}",
    "{\"Record\":{\"type\":\"object\",\"required\":[\"seq\",\"kind\","
    "\"time\",\"msg_type\",\"request\",\"header\",\"metadata\","
    "\"content\",\"buffers\"],\"properties\":{\"seq\":{"
    "\"type\":\"integer\"},\"kind\":{\"type\":\"string\","
    "\"enum\":[\"request\",\"event\",\"reply\",\"state\",\"gap\"]},"
    "\"time\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"msg_type\":{\"type\":\"string\"},\"request\":{"
    "\"type\":\"integer\"},\"header\":{\"type\":\"object\"},"
    "\"metadata\":{\"type\":\"object\"},\"content\":{"
    "\"type\":\"object\"},\"buffers\":{\"type\":\"array\",\"items\":{"
    "\"type\":\"string\"}}}}}",
    "{\"Run\":{\"type\":\"object\",\"required\":[\"request_id\","
    "\"pending\",\"request_status\",\"request_url\",\"outputs\"],"
    "\"properties\":{\"request_id\":{\"type\":\"string\","
    "\"format\":\"uuid\"},\"pending\":{\"type\":\"boolean\"},"
    "\"request_status\":{\"type\":\"string\",\"enum\":[\"queued\","
    "\"running\",\"input\",\"finished\",\"refused\"]},\"request_url\":{"
    "\"type\":\"string\"},\"outputs\":{\"type\":\"string\"},"
    "\"status\":{\"type\":\"string\"},\"execution_count\":{"
    "\"type\":\"integer\"}}}}",
    "{\"Runs\":{\"type\":\"array\",\"items\":{"
    "\"$ref\":\"#/components/schemas/Run\"}}}",
};

/* --- Paths --- */

/* "/api/kernels/{}/restart" -> "/api/kernels/{kernel}/restart"; the names are
 * the segments before them, in the singular. */
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
            if (*word && word[strlen(word) - 1] == 's')
                word[strlen(word) - 1] = '\0';
        }
        pattern += size;
    }
}

static json_t *json_body(const char *schema)
{
    cleanup_free char *link = mem_format("#/components/schemas/%s", schema);

    return json_pack("{s:{s:{s:s}}}", "application/json", "schema", "$ref",
                     link);
}

static json_t *describe_answers(const route_t *route, const char **ret_summary)
{
    json_t *responses = json_pack("{s:{s:s,s:o}}", "default", "description",
                                  "What was wrong, in a sentence", "content",
                                  json_body("Error"));

    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char status[8];
        if (answers[i].method != route->method
            || strcmp(answers[i].pattern, route->pattern) != 0)
            continue;
        *ret_summary = answers[i].summary;
        snprintf(status, sizeof status, "%d", answers[i].status);
        json_t *response =
            json_pack("{s:s}", "description", status_text(answers[i].status));
        if (answers[i].schema)
            json_object_set_new(response, "content",
                                json_body(answers[i].schema));
        json_object_set_new(responses, status, response);
    }
    return responses;
}

static json_t *describe(const route_t *route, json_t *parameters)
{
    const char *summary = route->pattern;
    json_t *responses = describe_answers(route, &summary);
    json_t *operation =
        json_pack("{s:s,s:O,s:o}", "summary", summary, "parameters", parameters,
                  "responses", responses);

    if (route->scope == SCOPE_NONE)
        json_object_set_new(operation, "security", json_array());
    else
        json_object_set_new(operation, "x-scope",
                            auth_scope_names(route->scope));
    if (route->method & (METHOD_POST | METHOD_PUT | METHOD_PATCH))
        json_object_set_new(operation, "requestBody",
                            json_pack("{s:{s:{s:{s:s}}}}", "content",
                                      "application/json", "schema", "type",
                                      "object"));
    return operation;
}

static void add(json_t *paths, const route_t *route)
{
    cleanup_buffer buffer_t path = BUFFER_EMPTY;
    json_auto_t *parameters = json_array();
    char method[16] = "";

    write_path(route->pattern, &path, parameters);
    const char *text = method_text(route->method);
    for (size_t i = 0; text[i] && i + 1 < sizeof method; i++)
        method[i] = (char) (text[i] | 0x20), method[i + 1] = '\0';
    json_t *item = json_object_get(paths, (const char *) path.data);
    if (!item) {
        item = json_object();
        json_object_set_new(paths, (const char *) path.data, item);
    }
    json_object_set_new(item, method, describe(route, parameters));
}

static json_t *describe_schemas(void)
{
    json_t *all = json_object();

    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        json_object_update_new(all, json_loads(schemas[i], 0, NULL));
    return all;
}

static json_t *describe_all(const http_t *http)
{
    json_t *paths = json_object();
    size_t cursor = 0;

    for (const route_t *at = routes_each(&cursor); at;
         at = routes_each(&cursor))
        add(paths, at);
    return json_pack(
        "{s:s,s:{s:s,s:s,s:s},s:[{s:s}],s:[{s:[]},{s:[]}],s:o,"
        "s:{s:o,s:{s:{s:s,s:s},s:{s:s,s:s,s:s}}}}",
        "openapi", "3.0.3", "info", "title", "hearth", "version",
        HEARTH_VERSION, "description",
        "Jupyter's REST interface, and hearth's own below /hearth/", "servers",
        "url", *http->base ? http->base : "/", "security", "bearer", "query",
        "paths", paths, "components", "schemas", describe_schemas(),
        "securitySchemes", "bearer", "type", "http", "scheme", "bearer",
        "query", "type", "apiKey", "in", "query", "name", "token");
}

static void show(exchange_t *exchange)
{
    json_auto_t *document = describe_all(exchange->http);
    cleanup_free char *text = json_dumps(document, JSON_INDENT(1));

    exchange_bytes(exchange, 200, "text/x-yaml", text, strlen(text));
}

const route_t spec_routes[] = {
    {METHOD_GET, "/api/spec.yaml", AUTH_OBSERVE, show},
    {0},
};
