/* Orders to the registry on behalf of requests. An order outlives the client
 * that made it (a session that is being created is created), its reply then
 * goes nowhere. */
#include "gateway/http/core/internal.h"
#include "gateway/http/rpc/chunked_uploads.h"
#include "gateway/http/rpc/export_worker.h"
#include "gateway/http/rpc/files_client.h"

#include <assert.h>
#include <string.h>

struct desk_order {
    uint64_t tag;
    exchange_t *exchange; /* borrowed; NULL once the client has gone */
    desk_reply_fn *fn;
    desk_order_t *next; /* owned by the list's head */
};

void desk_destroy(http_t *http)
{
    while (http->orders) {
        desk_order_t *order = http->orders;
        http->orders = order->next;
        free(order);
    }
    clerk_destroy(&http->clerk);
    uploads_destroy(http);
    courier_destroy(&http->courier);
}

void desk_forget(const exchange_t *exchange)
{
    courier_forget(exchange->http, exchange);
    clerk_forget(exchange);
    for (desk_order_t *at = exchange->http->orders; at; at = at->next)
        if (at->exchange == exchange)
            at->exchange = NULL;
}

void desk_order(exchange_t *exchange, const char *type, json_t *content,
                desk_reply_fn *fn)
{
    http_t *http = exchange->http;
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    desk_order_t *order = mem_new(sizeof *order);
    char who[ACCESS_WHO_SIZE];
    fault_t fault;

    json_decref(content);
    assert(text); /* what clients sent was checked to be UTF-8 */
    order->tag = ++http->counter;
    order->exchange = exchange;
    order->fn = fn;
    order->next = http->orders;
    http->orders = order;
    if (front_order(http->front, access_who(exchange, who), type,
                    (bytes_t){.bytes = text, .size = strlen(text)}, order->tag,
                    &fault)
        == 0)
        return;
    http->orders = order->next;
    free(order);
    exchange_fail(exchange, 503, "%s", fault.text);
}

void desk_on_answer(http_t *http, const front_event_t *event)
{
    desk_order_t **at = &http->orders;

    if (courier_on_answer(http, event))
        return;
    while (*at && (*at)->tag != event->tag)
        at = &(*at)->next;
    if (!*at)
        return;
    cleanup_free desk_order_t *order = *at;
    *at = order->next;
    if (!order->exchange)
        return;
    json_auto_t *reply =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    order->fn(order->exchange, reply);
}

bool desk_is_ok(exchange_t *exchange, const json_t *reply)
{
    static const struct {
        const char *ename;
        int status;
    } statuses[] = {
        {"UnknownSession", 404},    {"SessionGone", 404},
        {"AmbiguousSession", 404},  {"TooManySessions", 403},
        {"SessionNotStarted", 500}, {"GatewayStopping", 503},
        {"GatewayBusy", 503},       {"SessionNotResponding", 503},
    };
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
    exchange_fail(exchange, code, "%s", evalue ? evalue : "it did not work");
    return false;
}
