/* See mcp_listen.h. */
#include "gateway/cli/mcp/mcp_listen.h"

#include "base/clock.h"
#include "gateway/cli/mcp/mcp_request.h"

#include <string.h>

#define PAUSE_MIN_MS 200   /* before the first try */
#define PAUSE_MAX_MS 10000 /* it doubles up to this */
#define LIVED_MS     5000  /* a stream of this age was no failed try */
#define SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

void mcp_listen_clear(mcp_listen_t *self)
{
    json_decref(self->accepted);
    *self = (mcp_listen_t){0};
}

static bool has_method(const json_t *message, const char *wanted)
{
    const char *method = json_string_value(json_object_get(message, "method"));

    return method && strcmp(method, wanted) == 0;
}

bool mcp_listen_is(const json_t *message)
{
    return has_method(message, "subscriptions/listen")
           && mcp_request_is_modern(message);
}

/* Appends a notification of the subscription; `uri` may be NULL. */
static void write_change(const json_t *message, const char *method,
                         const char *uri, buffer_t *out)
{
    json_auto_t *line =
        json_pack("{s:s,s:s,s:{s:{s:O},s:s*}}", "jsonrpc", "2.0", "method",
                  method, "params", "_meta", SUBSCRIPTION,
                  json_object_get(message, "id"), "uri", uri);
    cleanup_free char *dumped = line ? json_dumps(line, JSON_COMPACT) : NULL;

    if (dumped)
        buffer_format(out, "%s\n", dumped);
}

/* Appends a notification of all that the client has subscribed to. The gateway
 * itself sends the tasks. */
static void write_changes(const mcp_listen_t *self, const json_t *message,
                          buffer_t *out)
{
    json_t *uri;
    size_t i;

    if (json_is_true(json_object_get(self->accepted, "resourcesListChanged")))
        write_change(message, "notifications/resources/list_changed", NULL,
                     out);
    json_array_foreach(json_object_get(self->accepted, "resourceSubscriptions"),
                       i, uri)
    {
        if (json_is_string(uri))
            write_change(message, "notifications/resources/updated",
                         json_string_value(uri), out);
    }
}

bool mcp_listen_take(mcp_listen_t *self, const json_t *message,
                     const json_t *answer, buffer_t *out)
{
    const json_t *accepted =
        json_object_get(json_object_get(answer, "params"), "notifications");
    bool is_first;

    if (!json_object_get(answer, "method"))
        mcp_listen_clear(self);
    if (!mcp_listen_is(message)
        || !has_method(answer, "notifications/subscriptions/acknowledged"))
        return false;
    is_first = !self->accepted;
    self->is_lost = false;
    self->opened_ms = clock_monotonic_ms();
    if (is_first)
        self->accepted = accepted ? json_deep_copy(accepted) : json_object();
    else
        write_changes(self, message, out);
    return !is_first;
}

bool mcp_listen_lose(mcp_listen_t *self)
{
    int64_t now = clock_monotonic_ms();

    if (!self->accepted)
        return false;
    if (!self->is_lost && now - self->opened_ms >= LIVED_MS)
        self->pause_ms = 0;
    self->pause_ms = self->pause_ms ? 2 * self->pause_ms : PAUSE_MIN_MS;
    if (self->pause_ms > PAUSE_MAX_MS)
        self->pause_ms = PAUSE_MAX_MS;
    self->is_lost = true;
    self->due_ms = now + self->pause_ms;
    return true;
}

int mcp_listen_wait_ms(const mcp_listen_t *self)
{
    int64_t left = self->due_ms - clock_monotonic_ms();

    if (!self->due_ms)
        return -1;
    return left < 0 ? 0 : (int) left;
}

void mcp_listen_try(mcp_listen_t *self)
{
    self->due_ms = 0;
}
