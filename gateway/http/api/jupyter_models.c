/* hearth's sessions as Jupyter's models. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

#include "gateway/config/lowering.h"
#include "gateway/config/tool_list.h"
#include "gateway/http/subscriptions/subscription.h"

#include "protocol/limits.h"

#include <string.h>

bool jupyter_model_are_texts(exchange_t *exchange, const json_t *object,
                             const char *const *names)
{
    for (; *names; names++) {
        const json_t *value = json_object_get(object, *names);
        if (value && !json_is_string(value) && !json_is_null(value)) {
            exchange_fail(exchange, 400, "%s must be a text", *names);
            return false;
        }
    }
    return true;
}

bool jupyter_model_has_died(const json_t *session)
{
    static const char *const ended[] = {"deleted", "idle", "lifetime"};

    for (size_t i = 0; i < sizeof ended / sizeof *ended; i++)
        if (strcmp(model_text(session, "reason"), ended[i]) == 0)
            return false;
    return model_is_gone(session);
}

/* Returns Jupyter's name of a state. */
static const char *execution_state(const char *state)
{
    if (strcmp(state, "stopping") == 0)
        return "terminating";
    if (strcmp(state, "gone") == 0)
        return "dead";
    return state;
}

json_t *jupyter_model_kernel(const http_t *http, const json_t *session)
{
    const char *id = model_text(session, "id");
    const char *active = model_text(session, "last_activity");
    json_t *model = json_pack(
        "{s:s,s:s,s:s,s:s,s:i}", "id", id, "name",
        model_text(session, "profile"), "last_activity",
        *active ? active : model_text(session, "created"), "execution_state",
        execution_state(model_text(session, "state")), "connections",
        (int) subscription_client_count(http, id));

    if (*model_text(session, "detail"))
        json_object_set(model, "reason", json_object_get(session, "detail"));
    return model;
}

bool jupyter_model_await(exchange_t *exchange, const char *id, await_t what,
                         registry_client_reply_fn *fn)
{
    fault_t fault;
    subscription_t *subscription =
        subscription_open(exchange->http, id, &fault);

    if (!subscription) {
        exchange_fail(exchange, 503, "%s", fault.text);
        return false;
    }
    if (what == AWAIT_HELLO && subscription->is_greeted) {
        json_auto_t *session = json_pack("{s:s}", "state", subscription->state);
        fn(exchange, subscription_is_alive(subscription) ? session : NULL);
        return true;
    }
    subscription_await(subscription, exchange, what, fn);
    return true;
}

void jupyter_model_on_restart(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        subscription_start_patience(exchange);
    else
        subscription_forget(exchange);
}

void jupyter_model_await_end(exchange_t *exchange, const json_t *reply,
                             registry_client_reply_fn *fn)
{
    const json_t *session = json_object_get(reply, "session");
    subscription_t *subscription =
        subscription_find(exchange->http, model_text(session, "id"));
    bool is_known =
        !subscription || subscription->is_over
        || subscription_has_seen_end(subscription, model_text(session, "ended"))
        || (subscription->state && strcmp(subscription->state, "gone") == 0);

    if (is_known)
        fn(exchange, NULL);
    else
        subscription_await(subscription, exchange, AWAIT_END, fn);
}

bool jupyter_model_may_list(exchange_t *exchange)
{
    if (exchange->http->options->http.list_kernels)
        return true;
    exchange_fail(exchange, 403,
                  "Kernels are not listed here: http/list_kernels is no");
    return false;
}

bool jupyter_model_is_unknown(exchange_t *exchange, const json_t *reply)
{
    const char *ename = model_text(reply, "ename");

    if (strcmp(ename, "UnknownSession") != 0
        && strcmp(ename, "AmbiguousSession") != 0)
        return false;
    exchange_fail_by(exchange, 404, ename, "Kernel does not exist: %.100s",
                     exchange->request.parameters[0]);
    return true;
}

json_t *jupyter_model_id(const exchange_t *exchange)
{
    return json_pack("{s:s}", "id", exchange->request.parameters[0]);
}

/* Copies numbers of seconds and texts for the registry unchanged. */
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
        if (!json_is_number(value) || json_number_value(value) < 0
            || json_number_value(value) > SESSION_SECONDS_MAX) {
            exchange_fail(exchange, 400, "%s must be seconds, 0 to %.0f",
                          seconds[i], SESSION_SECONDS_MAX);
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
        if (i == 0 && strcmp(json_string_value(value), "auto") != 0
            && strcmp(json_string_value(value), "never") != 0) {
            exchange_fail(exchange, 400, "restart must be auto or never");
            return false;
        }
        /* In Jupyter's bodies "name" is the profile's. */
        json_object_set(content, i ? "name" : words[i], value);
    }
    return true;
}

/* Copies what the session is to have less of than its profile. */
static bool copy_lowering(exchange_t *exchange, const json_t *body,
                          const char *profile, json_t *content)
{
    static const char *const sections[] = {LOWERING_LIMITS, LOWERING_PACKAGES,
                                           LOWERING_FETCH};

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        json_t *asked = json_object_get(body, sections[i]);
        cleanup_free char *text = NULL;
        fault_t fault;

        if (lowering_ask(options_profile(exchange->http->options, profile),
                         sections[i], asked, &text, &fault)
            < 0) {
            exchange_fail(exchange, 400, "%s", fault.text);
            return false;
        }
        if (asked)
            json_object_set(content, sections[i], asked);
    }
    return true;
}

static bool copy_tools(exchange_t *exchange, const json_t *body,
                       const char *profile, json_t *content)
{
    json_t *tools = json_object_get(body, "tools");
    cleanup_free char *text = NULL;
    fault_t fault;

    if (!tools)
        return true;
    if (tool_list_ask(options_profile(exchange->http->options, profile), tools,
                      &text, &fault)
        < 0) {
        exchange_fail(exchange, 400, "%s", fault.text);
        return false;
    }
    json_object_set(content, "tools", tools);
    return true;
}

/* Copies the environment like Kernel Gateway: KERNEL_… and variables that the
 * configuration permits; others are ignored. KERNEL_GATEWAY is set as well. */
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
                          "env: %.100s must be a text; its name is KERNEL_ "
                          "with capitals, digits and _",
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

/* The name python means the Python that is there, as in jupyter_client. Returns
 * NULL if there is no such profile. */
static const profile_t *find_profile(const options_t *options, const char *name)
{
    const profile_t *profile = options_profile(options, name);

    if (profile || strcmp(name, "python") != 0)
        return profile;
    profile = options_profile(options, "python3");
    return profile ? profile : options->profiles[0];
}

bool jupyter_model_has_profile(const http_t *http, const char *name)
{
    return !*name || http->options->http.force_profile
           || find_profile(http->options, name);
}

json_t *jupyter_model_creation(exchange_t *exchange, const json_t *body,
                               const char *profile)
{
    const options_t *options = exchange->http->options;
    json_auto_t *content = json_object();

    if (options->http.force_profile)
        profile = options->http.force_profile;
    if (profile && *profile) {
        const profile_t *found = find_profile(options, profile);
        if (!found) {
            exchange_fail(exchange, 500, "No such kernel named %.100s",
                          profile);
            return NULL;
        }
        profile = found->name;
        json_object_set_new(content, "profile", json_string(profile));
    }
    if (!copy_options(exchange, body, content)
        || !copy_lowering(exchange, body, profile, content)
        || !copy_tools(exchange, body, profile, content)
        || !copy_environment(exchange, body, content))
        return NULL;
    return take_ptr(content);
}
