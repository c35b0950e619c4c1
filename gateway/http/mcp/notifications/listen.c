/* See listen.h. */
#include "gateway/http/mcp/notifications/listen.h"

#include "base/clock.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/mcp/notifications/listeners.h"
#include "gateway/http/mcp/resources/resource_file.h"
#include "gateway/http/mcp/tasks/tasks.h"

#include <string.h>

static void on_event(mcp_call_t *call, const frontend_event_t *event)
{
    watch_t *watch = call->state;

    if (watch && watch->call)
        watch_on_event(watch, event);
}

static void on_tick(mcp_call_t *call, int64_t now)
{
    watch_t *watch = call->state;

    (void) now;
    if (watch && watch->call)
        watch_on_tick(watch);
}

static const call_ops_t ops = {.on_event = on_event, .on_tick = on_tick};

/* --- subscriptions/listen --- */

static void end_watch(void **self_p)
{
    watch_t *self = *self_p;

    if (!self)
        return;
    watch_clear(self);
    free(self);
    *self_p = NULL;
}

/* Adds the texts of a list, each once; returns those that were taken, for the
 * caller. */
static json_t *
add_each(watch_t *watch, const mcp_call_t *call, const json_t *list,
         bool (*add)(watch_t *watch, const mcp_call_t *call, const char *name))
{
    json_t *taken = json_array(), *name;
    size_t i;

    json_array_foreach(list, i, name)
    {
        if (json_is_string(name) && !watch_has(watch, json_string_value(name))
            && add(watch, call, json_string_value(name)))
            json_array_append(taken, name);
    }
    return taken;
}

/* Removes files from a list that are not watched, because no file can have such
 * a path. */
static void leave_out_refused(const watch_t *watch, json_t *list)
{
    for (size_t i = json_array_size(list); i > 0; i--)
        if (!watch_has(watch, json_string_value(json_array_get(list, i - 1))))
            json_array_remove(list, i - 1);
}

/* Begins when the state of all files is known: changes count from here. */
static void acknowledge(mcp_call_t *call)
{
    watch_t *watch = call->state;
    json_t *taken = take_ptr(watch->accepted);

    leave_out_refused(watch, json_object_get(taken, "resourceSubscriptions"));
    call_notify(call, "notifications/subscriptions/acknowledged",
                json_pack("{s:{s:o},s:o}", "_meta", WATCH_SUBSCRIPTION,
                          json_deep_copy(call->message.id), "notifications",
                          taken));
    watch_begin(watch, call);
}

static bool check_listen(mcp_call_t *call, const json_t *wanted)
{
    if (!json_is_object(wanted))
        call_error(call, 400, RPC_INVALID_PARAMS, NULL,
                   "params.notifications must be an object");
    else if (!call_can_stream(call))
        call_error(call, 400, RPC_INVALID_REQUEST, NULL,
                   "the header Accept must name text/event-stream");
    else
        return !json_object_get(wanted, "taskIds") || tasks_check(call);
    return false;
}

void listen_open(mcp_call_t *call)
{
    const json_t *wanted =
        json_object_get(call->message.params, "notifications");
    const json_t *resources = json_object_get(wanted, "resourceSubscriptions");
    const json_t *tasks = json_object_get(wanted, "taskIds");
    json_t *taken = json_object();
    watch_t *watch;

    if (!check_listen(call, wanted)) {
        json_decref(taken);
        return;
    }
    watch = mem_new(sizeof *watch);
    watch->has_list =
        json_is_true(json_object_get(wanted, "resourcesListChanged"));
    if (watch->has_list)
        json_object_set_new(taken, "resourcesListChanged", json_true());
    if (resources)
        json_object_set_new(
            taken, "resourceSubscriptions",
            add_each(watch, call, resources, watch_add_resource));
    if (tasks)
        json_object_set_new(taken, "taskIds",
                            add_each(watch, call, tasks, watch_add_task));
    call_keep(call, watch, end_watch, &ops);
    watch->accepted = taken;
    watch_prepare(watch, call, acknowledge);
}

/* --- Clients of the revisions before --- */

void listen_destroy(http_t *http)
{
    listeners_destroy(&http->mcp.listeners);
}

void listen_on_tick(http_t *http)
{
    listeners_expire(&http->mcp.listeners, clock_monotonic_ms());
}

static watch_t *watch_of(const mcp_call_t *call)
{
    char who[EXCHANGE_WHO_SIZE];

    return listeners_use(&call->exchange->http->mcp.listeners, call->client,
                         exchange_who(call->exchange, who),
                         clock_monotonic_ms());
}

/* Ends the stream of the client, so that the client learns it. */
static void end_stream(watch_t *watch)
{
    if (!watch->call)
        return;
    watch->call->state = NULL;
    call_end_stream(watch->call);
}

void listen_forget(const exchange_t *exchange, const char *client)
{
    http_mcp_t *mcp = &exchange->http->mcp;
    char who[EXCHANGE_WHO_SIZE];
    watch_t *watch =
        listeners_find(mcp->listeners, client, exchange_who(exchange, who));

    if (!watch)
        return;
    end_stream(watch);
    listeners_forget(&mcp->listeners, watch);
}

/* Adds the resource and answers. `version` is that of a file, else NULL. */
static void subscribe(mcp_call_t *call, const char *version)
{
    const char *uri = rpc_message_text(&call->message, "uri");
    watch_t *watch = watch_of(call);

    if (!uri || !watch_add_resource(watch, call, uri)) {
        call_error(call, 400, RPC_INVALID_PARAMS, NULL,
                   "there is no such resource that changes, or more than %d "
                   "are subscribed to",
                   WATCH_MAX);
        return;
    }
    if (version)
        watch_note_version(watch, uri, version);
    call_result(call, json_object());
}

static void on_file(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const char *version = NULL;
    resource_uri_t uri;

    if (resource_uri_read(rpc_message_text(&call->message, "uri"), &uri))
        version = watch_version_in(reply, &uri);
    if (version)
        subscribe(call, version);
    else
        resource_refuse(call);
}

void listen_subscribe(mcp_call_t *call)
{
    resource_uri_t uri;

    if (!*call->client)
        call_error(call, 400, RPC_INVALID_REQUEST, NULL,
                   "the header Mcp-Session-Id is missing; initialize gives it");
    else if (!resource_uri_read(rpc_message_text(&call->message, "uri"), &uri)
             || uri.kind != RESOURCE_IS_FILE)
        subscribe(call, NULL);
    else if (!call_reaches(call, uri.session))
        resource_refuse(call); /* whether that session exists or not */
    else if (call_permits(call, SCOPE_FILES))
        watch_ask(call->exchange, &uri, on_file);
}

void listen_unsubscribe(mcp_call_t *call)
{
    const char *uri = rpc_message_text(&call->message, "uri");

    if (*call->client && uri)
        watch_remove(watch_of(call), uri);
    call_result(call, json_object());
}

/* Ends the stream; the subscriptions stay. */
static void leave(void **self_p)
{
    watch_t *self = *self_p;

    if (self)
        self->call = NULL;
    *self_p = NULL;
}

/* Begins the stream of a client, the newest of which gets everything. */
void listen_get(mcp_call_t *call)
{
    watch_t *watch = watch_of(call);

    end_stream(watch);
    call_keep(call, watch, leave, &ops);
    call_begin_stream(call);
    watch_begin(watch, call);
}
