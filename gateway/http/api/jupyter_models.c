/* hearth's sessions as Jupyter's models. */
#include "gateway/http/api/jupyter_models.h"

#include "gateway/config/limit_overrides.h"
#include "gateway/http/ws/subscription.h"

#include <string.h>

const char *model_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

bool model_is_gone(const json_t *session)
{
    return strcmp(model_text(session, "state"), "gone") == 0;
}

/* The states that front ends know. */
static const char *execution_state(const char *state)
{
    if (strcmp(state, "stopping") == 0)
        return "terminating";
    if (strcmp(state, "gone") == 0)
        return "dead";
    return state;
}

json_t *model_kernel(const http_t *http, const json_t *session)
{
    const char *id = model_text(session, "id");
    const char *active = model_text(session, "last_activity");
    json_t *model = json_pack(
        "{s:s,s:s,s:s,s:s,s:i}", "id", id, "name",
        model_text(session, "profile"), "last_activity",
        *active ? active : model_text(session, "created"), "execution_state",
        execution_state(model_text(session, "state")), "connections",
        (int) watch_viewer_count(http, id));

    if (*model_text(session, "detail"))
        json_object_set(model, "reason", json_object_get(session, "detail"));
    return model;
}

bool model_await(exchange_t *exchange, const char *id, await_t what,
                 desk_reply_fn *fn)
{
    fault_t fault;
    watch_t *watch = watch_open(exchange->http, id, &fault);

    if (!watch) {
        exchange_fail(exchange, 503, "%s", fault.text);
        return false;
    }
    if (what == AWAIT_HELLO && watch->is_greeted) {
        json_auto_t *session = json_pack("{s:s}", "state", watch->state);
        fn(exchange, watch_is_alive(watch) ? session : NULL);
        return true;
    }
    watch_await(watch, exchange, what, fn);
    return true;
}

bool model_may_list(exchange_t *exchange)
{
    if (exchange->http->options->http.list_kernels)
        return true;
    exchange_fail(exchange, 403,
                  "Kernels are not listed here: http/list_kernels is no");
    return false;
}

const json_t *model_asked(const json_t *reply, const char *id)
{
    const json_t *session = json_object_get(reply, "session");

    return strcmp(model_text(session, "id"), id) == 0 ? session : NULL;
}

bool model_is_unknown(exchange_t *exchange, const json_t *reply)
{
    const char *ename = model_text(reply, "ename");

    if (strcmp(ename, "UnknownSession") != 0
        && strcmp(ename, "AmbiguousSession") != 0)
        return false;
    exchange_fail(exchange, 404, "Kernel does not exist: %.100s",
                  exchange->parameters[0]);
    return true;
}

json_t *model_id(const exchange_t *exchange)
{
    return json_pack("{s:s}", "id", exchange->parameters[0]);
}

/* Numbers of seconds and words that go to the registry as they are. */
static bool copy_options(exchange_t *exchange, const json_t *body,
                         json_t *content)
{
    static const char *const seconds[] = {"idle_timeout", "lifetime",
                                          "cell_time_limit"};
    static const char *const words[] = {"restart", "title"};

    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        json_t *value = json_object_get(body, seconds[i]);
        if (!value || json_is_null(value))
            continue;
        if (!json_is_number(value) || json_number_value(value) < 0) {
            exchange_fail(exchange, 400, "%s must be seconds, 0 or more",
                          seconds[i]);
            return false;
        }
        json_object_set(content, seconds[i], value);
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        json_t *value = json_object_get(body, words[i]);
        if (!value || json_is_null(value))
            continue;
        if (!json_is_string(value)) {
            exchange_fail(exchange, 400, "%s must be a text", words[i]);
            return false;
        }
        /* "name" is the profile's in Jupyter's bodies. */
        json_object_set(content, i ? "name" : words[i], value);
    }
    return true;
}

static bool copy_limits(exchange_t *exchange, const json_t *body,
                        const char *profile, json_t *content)
{
    json_t *limits = json_object_get(body, "limits");
    cleanup_free char *text = NULL;
    profile_limits_t lowered;
    fault_t fault;

    if (!limits)
        return true;
    if (session_limits_ask(options_profile(exchange->http->options, profile),
                           limits, &lowered, &text, &fault)
        < 0) {
        exchange_fail(exchange, 400, "%s", fault.text);
        return false;
    }
    json_object_set(content, "limits", limits);
    return true;
}

/* As Kernel Gateway does it: KERNEL_… and what the configuration allows comes
 * in, the rest is passed over, and the kernel learns who started it. */
static bool copy_environment(exchange_t *exchange, const json_t *body,
                             json_t *content)
{
    json_t *env = json_object_get(body, "env"), *value;
    json_auto_t *environment = json_object();
    const char *name;

    if (!env || json_is_null(env))
        return true;
    if (!json_is_object(env)) {
        exchange_fail(exchange, 400, "env must be an object");
        return false;
    }
    json_object_foreach(env, name, value)
    {
        bool is_permitted =
            options_permits_variable(exchange->http->options, name);
        if (!is_permitted && strncmp(name, "KERNEL_", 7) != 0)
            continue;
        if (!json_is_string(value) || !is_permitted) {
            exchange_fail(exchange, 400,
                          "env: %.100s must be a text, and a name with KERNEL_ "
                          "capitals, digits and _",
                          name);
            return false;
        }
        json_object_set(environment, name, value);
    }
    if (!json_object_size(environment))
        return true;
    json_object_set_new(environment, "KERNEL_GATEWAY", json_string("1"));
    json_object_set(content, "environment", environment);
    return true;
}

bool model_has_profile(const http_t *http, const char *name)
{
    return !*name || http->options->http.force_profile
           || options_profile(http->options, name);
}

json_t *model_creation(exchange_t *exchange, const json_t *body,
                       const char *profile)
{
    const char *forced = exchange->http->options->http.force_profile;
    json_auto_t *content = json_object();

    if (forced)
        profile = forced;
    /* jupyter_client's own rule: this name means the Python that is there. */
    if (profile && strcmp(profile, "python") == 0
        && !options_profile(exchange->http->options, profile))
        profile = options_profile(exchange->http->options, "python3")
                      ? "python3"
                      : exchange->http->options->profiles[0]->name;
    if (profile && *profile) {
        if (!options_profile(exchange->http->options, profile)) {
            exchange_fail(exchange, 500, "No such kernel named %.100s",
                          profile);
            return NULL;
        }
        json_object_set_new(content, "profile", json_string(profile));
    }
    if (!copy_options(exchange, body, content)
        || !copy_limits(exchange, body, profile, content)
        || !copy_environment(exchange, body, content))
        return NULL;
    return take_ptr(content);
}
