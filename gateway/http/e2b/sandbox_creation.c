/* Makes a sandbox: a session whose code may be run at E2B's door. A template is
 * a profile; the names of E2B's own templates mean the first one. Features that
 * hearth lacks are refused, so that no client relies on them. */
#include "gateway/http/e2b/sandbox_creation.h"

#include "gateway/http/core/model.h"
#include "gateway/http/e2b/sandbox.h"
#include "gateway/http/e2b/sandbox_model.h"
#include "gateway/http/rpc/registry_client.h"

#include <string.h>

/* E2B's templates that are made of Python alone. */
static const char *const usual_templates[] = {"base", "code-interpreter-v1",
                                              "code-interpreter-stateful"};

/* Members that hearth has no feature for, and the value that asks for none. */
static const struct {
    const char *name, *what;
} refused[] = {
    {"autoPause", "a sandbox cannot be paused"},
    {"autoResume", "a sandbox cannot be paused, so none is resumed"},
    {"network", "a sandbox reaches no network, so there are no rules for it"},
    {"mcp", "no MCP server is started in a sandbox; /mcp is the gateway's own"},
    {"iam", "a sandbox has no identity of its own"},
    {"volumeMounts", "there are no volumes; a sandbox has its workspace"},
};

/* Returns true if the value asks for nothing. */
static bool is_nothing(const json_t *value)
{
    return !value || json_is_null(value) || json_is_false(value)
           || (json_is_object(value) && !json_object_size(value))
           || (json_is_array(value) && !json_array_size(value));
}

/* Returns true if the value is {"enabled": false}, as clients send it. */
static bool is_disabled(const json_t *value)
{
    return json_is_object(value) && json_object_size(value) == 1
           && json_is_false(json_object_get(value, "enabled"));
}

static bool check_features(exchange_t *exchange, const json_t *body)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        const json_t *value = json_object_get(body, refused[i].name);
        if (is_nothing(value) || is_disabled(value))
            continue;
        exchange_fail(exchange, 400, "%s: %s", refused[i].name,
                      refused[i].what);
        return false;
    }
    return true;
}

static bool check_texts(exchange_t *exchange, const json_t *body)
{
    bool has_metadata = sandbox_are_texts(json_object_get(body, "metadata"));

    if (has_metadata && sandbox_are_variables(json_object_get(body, "envVars")))
        return true;
    exchange_fail(exchange, 400,
                  "%s must be an object of texts, of at most %u bytes",
                  has_metadata ? "envVars" : "metadata", SANDBOX_TEXTS_MAX);
    return false;
}

/* Returns the name of the template's profile; "" is the first profile. NULL: it
 * was refused. */
static const char *profile_of(exchange_t *exchange, const json_t *body)
{
    const options_t *options = exchange->http->options;
    const char *name = model_text(body, "templateID");

    if (options->http.force_profile)
        return options->http.force_profile;
    if (*name && options_profile(options, name))
        return name;
    for (size_t i = 0; i < sizeof usual_templates / sizeof *usual_templates;
         i++)
        if (strcmp(usual_templates[i], name) == 0)
            return "";
    exchange_fail(exchange, 404,
                  "There is no template %.100s: it must be the name of a "
                  "profile, base or code-interpreter-v1",
                  name);
    return NULL;
}

static void destroy_json(void **self_p)
{
    json_decref(*self_p);
    *self_p = NULL;
}

static void on_created(exchange_t *exchange, const json_t *reply)
{
    const char *id = model_text(json_object_get(reply, "session"), "id");
    json_t *note = exchange->task;

    if (!registry_client_is_ok(exchange, reply))
        return;
    sandbox_add(exchange->http, id,
                json_pack("{s:O,s:O,s:O}", "template",
                          json_object_get(note, "template"), "metadata",
                          json_object_get(note, "metadata"), "envs",
                          json_object_get(note, "envs")),
                json_number_value(json_object_get(note, "timeout")));
    exchange_json(
        exchange, 201,
        sandbox_model_access(exchange, id, sandbox_find(exchange->http, id)));
}

static json_t *object_of(const json_t *body, const char *name)
{
    json_t *value = json_object_get(body, name);

    return json_is_object(value) ? json_incref(value) : json_object();
}

/* Creates a sandbox. The gateway's idle timeout does not count: E2B promises a
 * sandbox's whole time. A kernel that dies is replaced, as E2B's is. */
static void create(exchange_t *exchange, double usual)
{
    json_auto_t *body = NULL;
    const char *profile;
    json_t *content;
    double seconds;

    if (!exchange_read_object(exchange, &body)
        || !check_features(exchange, body) || !check_texts(exchange, body)
        || !sandbox_model_timeout(exchange, body, usual, &seconds)
        || !(profile = profile_of(exchange, body)))
        return;
    exchange_keep(exchange,
                  json_pack("{s:s,s:o,s:o,s:f}", "template",
                            model_text(body, "templateID"), "metadata",
                            object_of(body, "metadata"), "envs",
                            object_of(body, "envVars"), "timeout", seconds),
                  destroy_json);
    content = json_pack("{s:i,s:s}", "idle_timeout", 0, "restart", "auto");
    if (*profile)
        json_object_set_new(content, "profile", json_string(profile));
    registry_client_ask(exchange, "session_create_request", content,
                        on_created);
}

void sandbox_create(exchange_t *exchange)
{
    create(exchange, SANDBOX_TIMEOUT_V2);
}

void sandbox_create_first(exchange_t *exchange)
{
    create(exchange, SANDBOX_TIMEOUT_V1);
}
