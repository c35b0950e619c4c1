/* See files_client.h. */
#include "gateway/http/rpc/files_client.h"

#include "gateway/http/api/jupyter_models.h"

#include <assert.h>
#include <string.h>

#define UNDER_WAY_MAX 16 /* of the 64 that the thread for files takes */

typedef struct order {
    struct order *next; /* owned by the line that it stands in */
    uint64_t tag;
    void *owner;    /* borrowed; NULL: nobody waits */
    courier_fn *fn; /* NULL for nobody, and for an exchange: */
    desk_reply_fn *reply;
    char
        who[ACCESS_WHO_SIZE]; /* who asks; "": it goes on with what was asked */
    const char *type;         /* of its message; static */
    char *content;            /* owned; JSON text */
    buffer_t data;
} order_t;

typedef struct {
    order_t *first, **end; /* owned */
} line_t;

struct courier {
    line_t waiting;  /* to be sent */
    line_t sent;     /* their answers are due */
    unsigned number; /* of those */
    bool is_full;    /* the thread for files had no room: till the next tick */
};

static void order_destroy(order_t **self_p)
{
    order_t *self = *self_p;

    if (!self)
        return;
    free(self->content);
    buffer_reset(&self->data);
    free(self);
    *self_p = NULL;
}

#define cleanup_order CLEANUP(order_destroy)

static void line_add(line_t *line, order_t *order)
{
    order->next = NULL;
    *line->end = order;
    line->end = &order->next;
}

static order_t *line_take(line_t *line, order_t **at)
{
    order_t *order = *at;

    *at = order->next;
    if (!*at)
        line->end = at;
    return order;
}

static void line_clear(line_t *line)
{
    while (line->first) {
        order_t *order = line_take(line, &line->first);
        order_destroy(&order);
    }
}

courier_t *courier_new(void)
{
    courier_t *self = mem_new(sizeof *self);

    self->waiting.end = &self->waiting.first;
    self->sent.end = &self->sent.first;
    return self;
}

void courier_destroy(courier_t **self_p)
{
    courier_t *self = *self_p;

    if (!self)
        return;
    line_clear(&self->waiting);
    line_clear(&self->sent);
    free(self);
    *self_p = NULL;
}

static int send_first(http_t *http, fault_t *fault)
{
    courier_t *self = http->courier;
    order_t *order = self->waiting.first;
    int r = front_order_data(
        http->front, order->who[0] ? order->who : NULL, order->type,
        (bytes_t){.bytes = order->content, .size = strlen(order->content)},
        (bytes_t){.bytes = order->data.data, .size = order->data.size},
        order->tag, fault);

    if (r < 0)
        return r;
    line_add(&self->sent, line_take(&self->waiting, &self->waiting.first));
    self->number++;
    return 0;
}

/* What could not be sent stays where it is, for the next tick. */
static void send_waiting(http_t *http)
{
    courier_t *self = http->courier;
    fault_t fault;

    while (self->waiting.first && self->number < UNDER_WAY_MAX
           && !self->is_full)
        self->is_full = send_first(http, &fault) < 0;
}

static order_t *order_new(http_t *http, void *owner, const char *type,
                          json_t *content)
{
    order_t *order = mem_new(sizeof *order);

    order->content = json_dumps(content, JSON_COMPACT);
    assert(order->content); /* what clients sent was checked to be UTF-8 */
    json_decref(content);
    order->tag = ++http->counter;
    order->owner = owner;
    order->type = type;
    return order;
}

void courier_begin(const exchange_t *exchange, void *owner, const char *type,
                   json_t *content, courier_fn *fn)
{
    order_t *order = order_new(exchange->http, owner, type, content);

    access_who(exchange, order->who);
    order->fn = fn;
    line_add(&exchange->http->courier->waiting, order);
    send_waiting(exchange->http);
}

void courier_order(http_t *http, void *owner, const char *type, json_t *content,
                   buffer_t *data, courier_fn *fn)
{
    order_t *order = order_new(http, owner, type, content);

    order->fn = fn;
    if (data) {
        order->data = *data;
        *data = BUFFER_EMPTY;
    }
    line_add(&http->courier->waiting, order);
    send_waiting(http);
}

void courier_ask(exchange_t *exchange, const char *type, json_t *content,
                 desk_reply_fn *fn)
{
    order_t *order = order_new(exchange->http, exchange, type, content);

    access_who(exchange, order->who);
    order->reply = fn;
    line_add(&exchange->http->courier->waiting, order);
    send_waiting(exchange->http);
}

static void answer(const order_t *order, const json_t *reply, bytes_t data)
{
    if (order->reply)
        order->reply(order->owner, reply);
    else
        order->fn(order->owner, reply, data);
}

void courier_forget(http_t *http, const void *owner)
{
    line_t *waiting = &http->courier->waiting;

    for (order_t **at = &waiting->first; *at;) {
        cleanup_order order_t *order = NULL;
        if ((*at)->owner && (*at)->owner == owner)
            order = line_take(waiting, at);
        else
            at = &(*at)->next;
    }
    for (order_t *at = http->courier->sent.first; at; at = at->next)
        if (at->owner == owner)
            at->owner = NULL;
}

/* The thread for files would notice by itself, but much later. */
void courier_close(http_t *http, const char *transfer)
{
    if (transfer)
        courier_order(http, NULL, "files_close_request",
                      json_pack("{s:s}", "transfer", transfer), NULL, NULL);
}

void courier_close_left(http_t *http, const json_t *reply)
{
    if (!json_is_true(json_object_get(reply, "done")))
        courier_close(http,
                      json_string_value(json_object_get(reply, "transfer")));
}

static bool has_no_room(const json_t *reply)
{
    return strcmp(model_text(reply, "ename"), "FilesBusy") == 0;
}

bool courier_on_answer(http_t *http, const front_event_t *event)
{
    courier_t *self = http->courier;
    order_t **at = &self->sent.first;

    while (*at && (*at)->tag != event->tag)
        at = &(*at)->next;
    if (!*at)
        return false;
    cleanup_order order_t *order = line_take(&self->sent, at);
    self->number--;
    json_auto_t *reply =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    if (has_no_room(reply)) {
        self->is_full = true;
        line_add(&self->waiting, take_ptr(order));
        return true;
    }
    if (order->owner)
        answer(order, reply,
               event->buffer_count ? event->buffers[0] : (bytes_t){0});
    else
        courier_close_left(http, reply);
    send_waiting(http);
    return true;
}

void courier_on_tick(http_t *http)
{
    http->courier->is_full = false;
    send_waiting(http);
}
