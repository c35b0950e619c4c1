/* See tool_fetch.h. The fetch is the registry's, and goes on if its client
 * goes. Calls for the same thing share one request, so a client that repeats
 * its call takes no second place among those that wait. They also share a key
 * until one of them gets the result: a call that is repeated when the fetch is
 * done, and was answered before with how far it had come, gets the result. It
 * gets one of a fetch of its own if what had come is not there any more. */
#include "gateway/http/mcp/tools/tool_fetch.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_request.h"
#include "gateway/http/mcp/results/fetch_text.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tools/call_key.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/registry_client.h"

#include <string.h>

#define KEYS_MAX 64 /* that are kept; the oldest one goes */

typedef struct {
    mcp_call_t *call;              /* borrowed: its owner */
    char session[FRONTEND_ID_MAX]; /* its id */
    char *name;                    /* owned; of the same calls; NULL: has key */
    json_t *key;                   /* owned; that these calls share */
    json_t *kept;                  /* owned; a result that is looked for */
    int64_t until, noticed;        /* monotonic ms */
    bool is_looking;               /* the list of fetches is asked for */
} fetch_t;

static void destroy(void **self_p)
{
    fetch_t *self = *self_p;

    if (self) {
        json_decref(self->kept);
        json_decref(self->key);
        free(self->name);
    }
    free(self);
    *self_p = NULL;
}

static const char *text_argument(const mcp_call_t *call, const char *name)
{
    return model_text(call->arguments, name);
}

static bool is_action(const mcp_call_t *call, const char *name)
{
    return strcmp(text_argument(call, "action"), name) == 0;
}

static bool is_clone(const mcp_call_t *call)
{
    return is_action(call, "clone");
}

bool tool_fetch_is_meant(const mcp_call_t *call)
{
    return is_action(call, "fetch") || is_clone(call);
}

static json_int_t depth_argument(const mcp_call_t *call)
{
    return json_integer_value(json_object_get(call->arguments, "depth"));
}

static bool wants(const mcp_call_t *call, const char *name)
{
    return json_is_true(json_object_get(call->arguments, name));
}

const char *tool_fetch_find_flaw(const mcp_call_t *call)
{
    if (!*text_argument(call, "url"))
        return "url is missing";
    if (depth_argument(call) < 0)
        return "depth must be 0 or more";
    if (!is_clone(call)
        && (*text_argument(call, "ref") || depth_argument(call)
            || wants(call, "lfs") || wants(call, "submodules")))
        return "ref, depth, lfs and submodules are for a repository: its "
               "action is clone";
    return NULL;
}

/* Forgets the key of calls of which one gets its answer now. They have another
 * one if one of them has fetched anew meanwhile. */
static void forget_key(const mcp_call_t *call)
{
    const fetch_t *self = call->state;
    json_t *keys = call->exchange->http->mcp.fetch_keys;

    if (self->name && json_object_get(keys, self->name) == self->key)
        json_object_del(keys, self->name);
}

static void answer(mcp_call_t *call, const json_t *reply)
{
    cleanup_free char *text = is_clone(call)
                                  ? fetch_text_cloned(reply, wants(call, "lfs"))
                                  : fetch_text_fetched(reply);

    tool_result_text(call, false, "%s", text);
}

static void ask(mcp_call_t *call);

/* Returns true if `stat` shows what has come, and of a file that nothing has
 * written to it since. */
static bool is_there(const mcp_call_t *call, const json_t *kept,
                     const json_t *stat)
{
    const json_t *entry = json_object_get(stat, "entry");

    if (is_clone(call))
        return strcmp(model_text(entry, "type"), "folder") == 0;
    return strcmp(model_text(entry, "type"), "file") == 0
           && json_equal(json_object_get(entry, "size"),
                         json_object_get(kept, "size"))
           && strcmp(model_text(entry, "modified"), model_text(kept, "kept_at"))
                  <= 0;
}

static void on_looked(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const fetch_t *self = call->state;

    if (call->is_answered)
        return;
    forget_key(call);
    if (is_there(call, self->kept, reply))
        answer(call, self->kept);
    else
        ask(call);
}

/* Looks whether what an earlier call has brought is still there. */
static void look(mcp_call_t *call, const json_t *reply)
{
    fetch_t *self = call->state;

    json_decref(self->kept);
    self->kept = json_deep_copy(reply);
    files_client_ask(call->exchange, "files_stat_request",
                     json_pack("{s:s,s:s}", "id", self->session, "path",
                               model_text(reply, "path")),
                     on_looked);
}

static void on_fetched(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const fetch_t *self = call->state;

    if (call->is_answered)
        return;
    if (self->name && *model_text(reply, "kept_at")
        && strcmp(model_text(reply, "status"), "ok") == 0) {
        look(call, reply);
        return;
    }
    forget_key(call);
    if (tool_result_is_ok(call, reply))
        answer(call, reply);
}

static const char *kind_of(const mcp_call_t *call)
{
    return is_clone(call) ? "repository" : "file";
}

/* Returns what the list has of the call's fetch, lent; NULL if it has nothing.
 * The list's URLs have no query. */
static const json_t *find(const mcp_call_t *call, const json_t *reply)
{
    const char *url = text_argument(call, "url");
    size_t size = strcspn(url, "?#");
    const json_t *fetch;
    size_t i;

    json_array_foreach(json_object_get(reply, "fetches"), i, fetch)
    {
        const char *other = model_text(fetch, "url");

        if (strlen(other) == size && strncmp(other, url, size) == 0
            && strcmp(model_text(fetch, "kind"), kind_of(call)) == 0)
            return fetch;
    }
    return NULL;
}

/* Answers with how far the fetch has come. */
static void answer_unfinished(mcp_call_t *call, const json_t *fetch)
{
    cleanup_free char *text = fetch_text_running(fetch, is_clone(call));

    tool_result_text(call, false, "%s", text);
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    fetch_t *self = call->state;
    const json_t *fetch = find(call, reply);
    const json_t *total = json_object_get(fetch, "total");

    self->is_looking = false;
    if (call->is_answered)
        return;
    if (clock_monotonic_ms() >= self->until)
        answer_unfinished(call, fetch);
    else if (fetch)
        call_progress(call, json_number_value(json_object_get(fetch, "bytes")),
                      json_is_integer(total) ? json_number_value(total) : -1,
                      model_text(fetch, "doing"));
}

static void on_tick(mcp_call_t *call, int64_t now)
{
    fetch_t *self = call->state;
    bool is_wanted =
        call_progress_token(call) && now - self->noticed >= CALL_PROGRESS_MS;

    if (self->is_looking || (now < self->until && !is_wanted))
        return;
    self->is_looking = true;
    self->noticed = now;
    registry_client_ask(
        call->exchange, "fetch_request",
        json_pack("{s:s,s:s}", "id", self->session, "order", "list"), on_list);
}

/* Returns the request, for the caller. Its values are the registry's to check:
 * it has the sentences. */
static json_t *describe(const mcp_call_t *call, const char *session)
{
    static const char *const texts[] = {"sha256", "ref"};
    static const char *const more[] = {"lfs", "submodules"};
    json_t *content =
        json_pack("{s:s,s:s,s:s,s:s,s:s}", "id", session, "order", "fetch",
                  "kind", kind_of(call), "url", text_argument(call, "url"),
                  "path", text_argument(call, "path"));

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (*text_argument(call, texts[i]))
            json_object_set_new(content, texts[i],
                                json_string(text_argument(call, texts[i])));
    if (depth_argument(call))
        json_object_set_new(content, "depth",
                            json_integer(depth_argument(call)));
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (wants(call, more[i]))
            json_object_set_new(content, more[i], json_true());
    return content;
}

/* Returns the key of calls with that name, lent. */
static json_t *shared_key(http_t *http, const char *name)
{
    json_t *keys = http->mcp.fetch_keys;
    char key[EXECUTION_ID_SIZE];

    if (!keys)
        keys = http->mcp.fetch_keys = json_object();
    if (!json_object_get(keys, name)) {
        if (json_object_size(keys) == KEYS_MAX)
            json_object_del(keys, json_object_iter_key(json_object_iter(keys)));
        execution_request_id(key);
        json_object_set_new(keys, name, json_string(key));
    }
    return json_object_get(keys, name);
}

/* Adds the client's key, or one that the same calls share. */
static void add_key(const mcp_call_t *call, json_t *content)
{
    fetch_t *self = call->state;
    char key[EXECUTION_ID_SIZE];

    if (call_key(call)) {
        call_key_id(call, self->session, key);
        json_object_set_new(content, "key", json_string(key));
        return;
    }
    free(self->name);
    self->name = json_dumps(content, JSON_COMPACT);
    json_decref(self->key);
    self->key = json_incref(shared_key(call->exchange->http, self->name));
    json_object_set(content, "key", self->key);
}

static void ask(mcp_call_t *call)
{
    const fetch_t *self = call->state;
    json_t *content = describe(call, self->session);
    cleanup_free char *name = NULL;

    add_key(call, content);
    name = json_dumps(content, JSON_COMPACT);
    registry_client_ask_once(call->exchange, name, "fetch_request", content,
                             on_fetched);
}

void tool_fetch_run(mcp_call_t *call, const char *session)
{
    static const call_ops_t ops = {.on_tick = on_tick};
    fetch_t *self;

    if (!call_key_check(call))
        return;
    self = mem_new(sizeof *self);
    self->call = call;
    snprintf(self->session, sizeof self->session, "%s", session);
    self->noticed = clock_monotonic_ms();
    self->until = self->noticed + call->exchange->http->options->mcp.block_ms;
    call_keep(call, self, destroy, &ops);
    ask(call);
}
