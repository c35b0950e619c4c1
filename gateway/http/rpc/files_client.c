/* See files_client.h. */
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

#include <assert.h>
#include <string.h>

#define UNDER_WAY_MAX 16 /* of the 64 that the files thread permits */

typedef struct call {
    struct call *next; /* owned by the list that it is in */
    uint64_t tag;
    void *owner;         /* borrowed; NULL: no client waits */
    files_client_fn *fn; /* NULL if no client waits, or if `reply` is set */
    registry_client_reply_fn *reply;
    char who[EXCHANGE_WHO_SIZE]; /* the client's name; "": a continuation of an
                                    earlier request */
    const char *type;            /* of its message; static */
    char *content;               /* owned; JSON text */
    buffer_t data;
} files_call_t;

typedef struct {
    files_call_t *first, **end; /* owned */
} call_list_t;

struct files_client {
    call_list_t waiting; /* to be sent */
    call_list_t sent;    /* sent, without an answer yet */
    unsigned number;     /* number of sent calls */
    bool is_full; /* the files thread had no room: wait for the next tick */
};

static void files_call_destroy(files_call_t **self_p)
{
    files_call_t *self = *self_p;

    if (!self)
        return;
    free(self->content);
    buffer_reset(&self->data);
    free(self);
    *self_p = NULL;
}

#define cleanup_files_call CLEANUP(files_call_destroy)

static void call_list_add(call_list_t *list, files_call_t *call)
{
    call->next = NULL;
    *list->end = call;
    list->end = &call->next;
}

static files_call_t *call_list_take(call_list_t *list, files_call_t **at)
{
    files_call_t *call = *at;

    *at = call->next;
    if (!*at)
        list->end = at;
    return call;
}

static void line_clear(call_list_t *list)
{
    while (list->first) {
        files_call_t *call = call_list_take(list, &list->first);
        files_call_destroy(&call);
    }
}

files_client_t *files_client_new(void)
{
    files_client_t *self = mem_new(sizeof *self);

    self->waiting.end = &self->waiting.first;
    self->sent.end = &self->sent.first;
    return self;
}

void files_client_destroy(files_client_t **self_p)
{
    files_client_t *self = *self_p;

    if (!self)
        return;
    line_clear(&self->waiting);
    line_clear(&self->sent);
    free(self);
    *self_p = NULL;
}

static int send_first(http_t *http, fault_t *fault)
{
    files_client_t *self = http->files_client;
    files_call_t *call = self->waiting.first;
    int r =
        frontend_call(http->frontend,
                      &(frontend_call_t){.who = call->who[0] ? call->who : NULL,
                                         .type = call->type,
                                         .content = text_bytes(call->content),
                                         .data = buffer_bytes(&call->data),
                                         .tag = call->tag},
                      fault);

    if (r < 0)
        return r;
    call_list_add(&self->sent,
                  call_list_take(&self->waiting, &self->waiting.first));
    self->number++;
    return 0;
}

/* Sends waiting calls. Those that do not fit stay in the list for the next
 * tick. */
static void send_waiting(http_t *http)
{
    files_client_t *self = http->files_client;
    fault_t fault;

    while (self->waiting.first && self->number < UNDER_WAY_MAX
           && !self->is_full)
        self->is_full = send_first(http, &fault) < 0;
}

static files_call_t *files_call_new(http_t *http, void *owner, const char *type,
                                    json_t *content)
{
    files_call_t *call = mem_new(sizeof *call);

    call->content = json_dumps(content, JSON_COMPACT);
    assert(call->content); /* what clients sent was checked to be UTF-8 */
    json_decref(content);
    call->tag = ++http->counter;
    call->owner = owner;
    call->type = type;
    return call;
}

void files_client_begin(const exchange_t *exchange, void *owner,
                        const char *type, json_t *content, files_client_fn *fn)
{
    files_call_t *call = files_call_new(exchange->http, owner, type, content);

    exchange_who(exchange, call->who);
    call->fn = fn;
    call_list_add(&exchange->http->files_client->waiting, call);
    send_waiting(exchange->http);
}

void files_client_ask_for(http_t *http, void *owner, const char *type,
                          json_t *content, buffer_t *data, files_client_fn *fn)
{
    files_call_t *call = files_call_new(http, owner, type, content);

    call->fn = fn;
    if (data) {
        call->data = *data;
        *data = BUFFER_EMPTY;
    }
    call_list_add(&http->files_client->waiting, call);
    send_waiting(http);
}

static void forget_exchange(const exchange_t *exchange)
{
    files_client_forget(exchange->http, exchange);
}

void files_client_ask(exchange_t *exchange, const char *type, json_t *content,
                      registry_client_reply_fn *fn)
{
    files_call_t *call =
        files_call_new(exchange->http, exchange, type, content);

    exchange_who(exchange, call->who);
    exchange_on_destroy(exchange, forget_exchange);
    call->reply = fn;
    call_list_add(&exchange->http->files_client->waiting, call);
    send_waiting(exchange->http);
}

static void answer(const files_call_t *call, const json_t *reply, bytes_t data)
{
    if (call->reply)
        call->reply(call->owner, reply);
    else
        call->fn(call->owner, reply, data);
}

void files_client_forget(http_t *http, const void *owner)
{
    call_list_t *waiting = &http->files_client->waiting;

    for (files_call_t **at = &waiting->first; *at;) {
        cleanup_files_call files_call_t *call = NULL;
        if ((*at)->owner && (*at)->owner == owner)
            call = call_list_take(waiting, at);
        else
            at = &(*at)->next;
    }
    for (files_call_t *at = http->files_client->sent.first; at; at = at->next)
        if (at->owner == owner)
            at->owner = NULL;
}

/* Closes a transfer. The files thread would notice by itself, but much later.
 */
void files_client_close(http_t *http, const char *transfer)
{
    if (transfer)
        files_client_ask_for(http, NULL, "files_close_request",
                             json_pack("{s:s}", "transfer", transfer), NULL,
                             NULL);
}

void files_client_close_left(http_t *http, const json_t *reply)
{
    if (!json_is_true(json_object_get(reply, "done")))
        files_client_close(
            http, json_string_value(json_object_get(reply, "transfer")));
}

static bool has_no_room(const json_t *reply)
{
    return strcmp(model_text(reply, "ename"), "FilesBusy") == 0;
}

bool files_client_on_answer(http_t *http, const frontend_event_t *event)
{
    files_client_t *self = http->files_client;
    files_call_t **at = &self->sent.first;

    while (*at && (*at)->tag != event->tag)
        at = &(*at)->next;
    if (!*at)
        return false;
    cleanup_files_call files_call_t *call = call_list_take(&self->sent, at);
    self->number--;
    json_auto_t *reply =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    if (has_no_room(reply)) {
        self->is_full = true;
        call_list_add(&self->waiting, take_ptr(call));
        return true;
    }
    if (call->owner)
        answer(call, reply,
               event->buffer_count ? event->buffers[0] : (bytes_t){0});
    else
        files_client_close_left(http, reply);
    send_waiting(http);
    return true;
}

void files_client_on_tick(http_t *http)
{
    http->files_client->is_full = false;
    send_waiting(http);
}
