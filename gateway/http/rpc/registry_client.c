/* Requests to the registry on behalf of HTTP requests. A request outlives its
 * client (a session is created anyway); its reply is then dropped. One that may
 * wait for packages is withdrawn. */
#include "gateway/http/rpc/registry_client.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

struct registry_request {
    uint64_t tag;
    char *name;           /* owned; under which it is asked once, or NULL */
    exchange_t *exchange; /* borrowed; NULL once the client has gone */
    registry_client_reply_fn *fn;
    void *owner; /* borrowed; of a call, NULL once it is forgotten */
    registry_client_call_fn *call_fn;
    bool can_wait;            /* for the packages of a profile */
    registry_request_t *next; /* owned by the list's head */
};

static void destroy(registry_request_t *self)
{
    free(self->name);
    free(self);
}

void registry_client_destroy(http_t *http)
{
    while (http->requests) {
        registry_request_t *request = http->requests;
        http->requests = request->next;
        destroy(request);
    }
}

/* Returns true if a client waits for the reply. */
static bool is_wanted(const http_t *http, uint64_t tag)
{
    for (const registry_request_t *at = http->requests; at; at = at->next)
        if (at->tag == tag && at->exchange)
            return true;
    return false;
}

static void forget(const exchange_t *exchange)
{
    http_t *http = exchange->http;

    for (registry_request_t *at = http->requests; at; at = at->next) {
        if (at->exchange != exchange)
            continue;
        at->exchange = NULL;
        if (at->can_wait && !is_wanted(http, at->tag))
            frontend_withdraw(http->frontend, at->tag);
    }
}

/* Returns true if requests of this type may wait for packages, perhaps for
 * minutes (gateway/registry/sessions/package_wait.h). */
static bool can_wait(const char *type)
{
    return strcmp(type, "session_create_request") == 0
           || strcmp(type, "session_restart_request") == 0;
}

/* Adds a request to those whose reply is due. */
static registry_request_t *add(exchange_t *exchange, uint64_t tag,
                               const char *name, const char *type,
                               registry_client_reply_fn *fn)
{
    http_t *http = exchange->http;
    registry_request_t *request = mem_new(sizeof *request);

    request->tag = tag;
    request->name = name ? mem_text(name) : NULL;
    request->exchange = exchange;
    exchange_on_destroy(exchange, forget);
    request->fn = fn;
    request->can_wait = can_wait(type);
    request->next = http->requests;
    http->requests = request;
    return request;
}

static void send_request(exchange_t *exchange, const char *name,
                         const char *type, json_t *content,
                         registry_client_reply_fn *fn)
{
    http_t *http = exchange->http;
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    registry_request_t *request =
        add(exchange, ++http->counter, name, type, fn);
    char who[EXCHANGE_WHO_SIZE];
    fault_t fault;
    int r;

    json_decref(content);
    assert(text); /* what clients sent was checked to be UTF-8 */
    r = frontend_call(http->frontend,
                      &(frontend_call_t){.who = exchange_who(exchange, who),
                                         .type = type,
                                         .content = text_bytes(text),
                                         .tag = request->tag},
                      &fault);
    if (r == 0)
        return;
    http->requests = request->next;
    destroy(request);
    exchange_fail(exchange, r == -EMSGSIZE ? 413 : 503, "%s", fault.text);
}

void registry_client_ask(exchange_t *exchange, const char *type,
                         json_t *content, registry_client_reply_fn *fn)
{
    send_request(exchange, NULL, type, content, fn);
}

void registry_client_ask_once(exchange_t *exchange, const char *name,
                              const char *type, json_t *content,
                              registry_client_reply_fn *fn)
{
    for (const registry_request_t *at = exchange->http->requests; at;
         at = at->next) {
        if (!at->name || strcmp(at->name, name) != 0)
            continue;
        json_decref(content);
        add(exchange, at->tag, name, type, fn);
        return;
    }
    send_request(exchange, name, type, content, fn);
}

bool registry_client_call(http_t *http, void *owner, const char *type,
                          json_t *content, registry_client_call_fn *fn)
{
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    const frontend_call_t call = {
        .type = type, .content = text_bytes(text), .tag = ++http->counter};
    registry_request_t *request;
    fault_t ignored;

    json_decref(content);
    if (frontend_call(http->frontend, &call, &ignored) < 0)
        return false;
    request = mem_new(sizeof *request);
    request->tag = call.tag;
    request->owner = owner;
    request->call_fn = fn;
    request->next = http->requests;
    http->requests = request;
    return true;
}

void registry_client_forget(http_t *http, const void *owner)
{
    for (registry_request_t *at = http->requests; at; at = at->next)
        if (at->owner == owner)
            at->owner = NULL;
}

/* Takes the request with that tag out of those whose reply is due; NULL if no
 * such request waits. */
static registry_request_t *take(http_t *http, uint64_t tag)
{
    registry_request_t **at = &http->requests, *request;

    while (*at && (*at)->tag != tag)
        at = &(*at)->next;
    request = *at;
    if (request)
        *at = request->next;
    return request;
}

void registry_client_on_answer(http_t *http, const frontend_event_t *event)
{
    json_auto_t *reply = NULL;
    registry_request_t *request;

    while ((request = take(http, event->tag))) {
        if ((request->exchange || request->owner) && !reply)
            reply = json_loadb(event->json.bytes, event->json.size, 0, NULL);
        if (request->exchange)
            request->fn(request->exchange, reply);
        else if (request->owner)
            request->call_fn(request->owner, reply);
        destroy(request);
    }
}

/* The status of HTTP for each error of the registry; 500 for others. */
static const struct {
    const char *ename;
    int status;
} statuses[] = {
    {"UnknownSession", 404},
    {"SessionGone", 404},
    {"AmbiguousSession", 404},
    {"TooManySessions", 403},
    {"SessionAlive", 409},
    {"SessionNotStarted", 500},
    {"GatewayStopping", 503},
    {"GatewayBusy", 503},
    {"SessionNotResponding", 503},
    {"SessionNotEnded", 503},
    {"BadRequest", 400},
    {"NotPermitted", 403},
    {"ToolsConflict", 409},
    {"UnknownProvider", 404},
    {"CallEnded", 409},
    {"ProviderRemoved", 404},
    {"TooManyWaits", 429},
    {"PackagesInvalid", 400},
    {"PackagesOff", 403},
    {"PackagesRefused", 403},
    {"PackagesConflict", 409},
    {"PackagesUnreachable", 502},
    {"PackagesBusy", 503},
    {"PackagesFailed", 500},
    {"RestartNeeded", 409},
    {"FetchInvalid", 400},
    {"FetchOff", 403},
    {"FetchRefused", 403},
    {"FetchUnreachable", 502},
    {"FetchBusy", 503},
    {"FetchFailed", 500},
    {"FetchCancelled", 409},
    {"FetchUnknown", 404},
    {"FilesBusy", 503},
    {"WorkspaceFull", 507},
    {"PathRefused", 400},
    {"IsFolder", 400},
    {"FileNotFound", 404},
    {"FileDenied", 403},
    {"FileBusy", 503},
    {"FileExists", 409},
    {"FolderNotEmpty", 409},
    {"FileChanged", 409},
    {"FetchKeyUsed", 409},
};

bool registry_client_is_ok(exchange_t *exchange, const json_t *reply)
{
    const char *status = json_string_value(json_object_get(reply, "status"));
    const char *ename = json_string_value(json_object_get(reply, "ename"));
    const char *evalue = json_string_value(json_object_get(reply, "evalue"));
    int code = 500;

    if (status && strcmp(status, "ok") == 0)
        return true;
    for (size_t i = 0; ename && i < sizeof statuses / sizeof *statuses; i++)
        if (strcmp(statuses[i].ename, ename) == 0)
            code = statuses[i].status;
    json_int_t seconds =
        json_integer_value(json_object_get(reply, "retry_after"));
    if (seconds > 0)
        exchange_header(exchange, "Retry-After", "%lld", (long long) seconds);
    exchange_fail_by(exchange, code, ename, "%s",
                     evalue ? evalue : "the gateway could not do it");
    return false;
}
