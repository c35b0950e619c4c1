/* See subscription.h. A session's messages are passed to its viewers here;
 * websocket.c has what a viewer does with them. */
#include "gateway/http/subscriptions/subscription.h"
#include "gateway/http/rpc/registry_client.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/executions/executions.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/session_set.h"
#include "protocol/jspan.h"

#include <string.h>

#define LINGER_MS     60000 /* how long an attachment without viewers stays */
#define RUNNING_OTHER UINT64_MAX /* a request whose busy was left out */

struct awaiting {
    exchange_t *exchange; /* borrowed */
    registry_client_reply_fn *fn;
    int64_t deadline; /* monotonic ms; INT64_MAX: not yet */
    await_t what;
    bool was_away;    /* the session has not been ready since */
    awaiting_t *next; /* owned */
};

struct follower {
    exchange_t *exchange; /* borrowed */
    follower_t *next;     /* owned */
};

static void wake_followers(const subscription_t *self)
{
    for (const follower_t *at = self->followers; at; at = at->next)
        exchange_wake(at->exchange);
}

static void destroy(void **self_p)
{
    subscription_t *self = *self_p;

    wake_followers(self); /* they then find that the session has ended */
    while (self->followers) {
        follower_t *first = self->followers;
        self->followers = first->next;
        free(first);
    }
    while (self->awaiting) {
        awaiting_t *first = self->awaiting;
        self->awaiting = first->next;
        free(first);
    }
    while (self->subscribers)
        self->subscribers->ops->detach(self->subscribers);
    free(self->farewell);
    free(self->ended);
    free(self->state);
    free(self->kernel_session);
    free(self->journal);
    free(self);
    *self_p = NULL;
}

zhashx_t *subscription_table_new(void)
{
    zhashx_t *table = zhashx_new();

    zhashx_set_destructor(table, destroy);
    return table;
}

void subscription_destroy_all(http_t *http)
{
    zhashx_destroy(&http->subscriptions);
}

subscription_t *subscription_find(const http_t *http, const char *session)
{
    return zhashx_lookup(http->subscriptions, session);
}

subscription_t *subscription_open(http_t *http, const char *session,
                                  fault_t *fault)
{
    subscription_t *self = subscription_find(http, session);

    if (self && !self->is_over)
        return self;
    if (frontend_attach(http->frontend, session, fault) < 0)
        return NULL;
    if (self) /* its viewers are being closed */
        zhashx_delete(http->subscriptions, session);
    self = mem_new(sizeof *self);
    self->http = http;
    snprintf(self->id, sizeof self->id, "%s", session);
    self->unused_since = clock_monotonic_ms();
    zhashx_insert(http->subscriptions, self->id, self);
    return self;
}

static bool is_at_work(const char *state)
{
    return strcmp(state, "idle") == 0 || strcmp(state, "busy") == 0;
}

bool subscription_is_alive(const subscription_t *self)
{
    return self->is_greeted && !self->is_over
           && strcmp(self->state, "gone") != 0;
}

bool subscription_has_seen_end(const subscription_t *self, const char *ended)
{
    return *ended && self->ended && strcmp(self->ended, ended) == 0;
}

bool subscription_is_idle(const subscription_t *self)
{
    return subscription_is_alive(self) && is_at_work(self->state)
           && !self->running;
}

void subscription_add(subscription_t *self, subscriber_t *subscriber)
{
    subscriber->next = self->subscribers;
    self->subscribers = subscriber;
}

void subscription_remove(subscription_t *self, subscriber_t *subscriber)
{
    subscriber_t **at = &self->subscribers;

    while (*at && *at != subscriber)
        at = &(*at)->next;
    if (*at)
        *at = subscriber->next;
    if (self->upcoming == subscriber)
        self->upcoming = subscriber->next;
    subscriber->next = NULL;
    if (!self->subscribers)
        self->unused_since = clock_monotonic_ms();
}

unsigned subscription_client_count(const http_t *http, const char *session)
{
    const subscription_t *self = subscription_find(http, session);
    unsigned count = 0;

    for (const subscriber_t *at = self ? self->subscribers : NULL; at;
         at = at->next)
        count += at->ops->is_connection;
    return count;
}

/* --- Requests that wait --- */

static int64_t end_of_patience(void)
{
    return clock_monotonic_ms() + SUBSCRIPTION_PATIENCE_S * 1000;
}

void subscription_await(subscription_t *self, exchange_t *exchange,
                        await_t what, registry_client_reply_fn *fn)
{
    awaiting_t *item = mem_new(sizeof *item);

    item->exchange = exchange;
    exchange_on_destroy(exchange, subscription_forget);
    item->fn = fn;
    item->what = what;
    item->deadline = what == AWAIT_READY ? INT64_MAX : end_of_patience();
    item->next = self->awaiting;
    self->awaiting = item;
}

void subscription_start_patience(const exchange_t *exchange)
{
    zhashx_t *all = exchange->http->subscriptions;

    for (const subscription_t *self = zhashx_first(all); self;
         self = zhashx_next(all))
        for (awaiting_t *at = self->awaiting; at; at = at->next)
            if (at->exchange == exchange)
                at->deadline = end_of_patience();
}

void subscription_follow(subscription_t *self, exchange_t *exchange)
{
    follower_t *item = mem_new(sizeof *item);

    item->exchange = exchange;
    exchange_on_destroy(exchange, subscription_forget);
    item->next = self->followers;
    self->followers = item;
}

bool subscription_is_followed(const exchange_t *exchange, const char *session)
{
    const subscription_t *self = subscription_find(exchange->http, session);

    if (!self || self->is_over)
        return false;
    for (const follower_t *at = self->followers; at; at = at->next)
        if (at->exchange == exchange)
            return true;
    return false;
}

static void forget_follower(subscription_t *self, const exchange_t *exchange)
{
    follower_t **at = &self->followers;

    while (*at && (*at)->exchange != exchange)
        at = &(*at)->next;
    if (!*at)
        return;
    follower_t *item = *at;
    *at = item->next;
    free(item);
    self->unused_since = clock_monotonic_ms();
}

static void forget(subscription_t *self, const exchange_t *exchange)
{
    awaiting_t **at = &self->awaiting;

    while (*at) {
        awaiting_t *item = *at;
        if (item->exchange != exchange) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        free(item);
    }
}

void subscription_forget(const exchange_t *exchange)
{
    http_t *http = exchange->http;

    for (subscription_t *self = zhashx_first(http->subscriptions); self;
         self = zhashx_next(http->subscriptions)) {
        forget(self, exchange);
        forget_follower(self, exchange);
    }
}

/* Answers requests whose session has reached their state; `session` is NULL
 * when it has ended. Each item is removed first, because an answer may change
 * the list. */
static void answer(subscription_t *self, const json_t *session,
                   bool (*is_due)(awaiting_t *item, const void *argument),
                   const void *argument)
{
    awaiting_t **at = &self->awaiting;

    while (*at) {
        awaiting_t *item = *at;
        if (!is_due(item, argument)) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        item->fn(item->exchange, session);
        free(item);
    }
}

static bool is_over(awaiting_t *item, const void *argument)
{
    (void) item;
    (void) argument;
    return true;
}

static bool is_ready(awaiting_t *item, const void *argument)
{
    const char *state = argument;
    bool is_working = is_at_work(state);

    item->was_away |= !is_working;
    return item->what == AWAIT_READY && is_working && item->was_away;
}

static bool is_greeted(awaiting_t *item, const void *argument)
{
    (void) argument;
    return item->what == AWAIT_HELLO;
}

static bool is_late(awaiting_t *item, const void *argument)
{
    const int64_t *now = argument;

    return item->deadline < *now;
}

/* --- Messages of the session --- */

/* Begin and continue a walk over the subscribers, of which any may leave
 * meanwhile. There is one walk at a time: the loop's events begin them. */
static subscriber_t *next(subscription_t *self)
{
    subscriber_t *subscriber = self->upcoming;

    self->upcoming = subscriber ? subscriber->next : NULL;
    return subscriber;
}

static subscriber_t *first(subscription_t *self)
{
    self->upcoming = self->subscribers;
    return next(self);
}

static void replace(char **text_p, const char *text)
{
    free(*text_p);
    *text_p = mem_text(text);
}

/* Notes the state. A gone session still answers, with its reason, so its
 * viewers stay. */
static void on_state(subscription_t *self, const json_t *json)
{
    replace(&self->state, model_text(json, "state"));
    self->running = strcmp(self->state, "busy") == 0 ? RUNNING_OTHER : 0;
    for (subscriber_t *at = first(self); at; at = next(self))
        if (at->ops->state)
            at->ops->state(at);
    if (strcmp(self->state, "gone") == 0) {
        replace(&self->ended, model_text(json, "ended"));
        replace(&self->farewell, model_text(json, "detail"));
        answer(self, NULL, is_over, NULL);
        return;
    }
    answer(self, json, is_ready, self->state);
}

/* Handles the first HELLO, or another one after events were left out. */
static void on_hello(subscription_t *self, const frontend_event_t *event,
                     const json_t *json)
{
    bool is_first = !self->is_greeted;

    self->is_greeted = true;
    self->last_seq = event->seq;
    replace(&self->journal, model_text(json, "journal"));
    replace(&self->kernel_session, model_text(json, "kernel_session"));
    on_state(self, json);
    answer(self, json, is_greeted, NULL);
    for (subscriber_t *at = first(self); at; at = next(self))
        at->ops->hello(at, is_first);
}

static void end_subscribers(subscription_t *self, int status, const char *text)
{
    for (subscriber_t *at = first(self); at; at = next(self))
        at->ops->end(at, status, text);
}

static void on_bye(subscription_t *self, const json_t *json)
{
    const char *reason = model_text(json, "reason");
    bool is_kept =
        strcmp(reason, "drained") == 0 || strcmp(reason, "unattached") == 0;

    self->is_over = true;
    if (!is_kept)
        session_set_note(self->http, self->id, false);
    replace(&self->farewell, model_text(json, "sentence"));
    end_subscribers(
        self, is_kept ? WS_CLOSE_SERVICE_RESTART : LWS_CLOSE_STATUS_NORMAL,
        self->farewell);
    answer(self, NULL, is_over, NULL);
}

static bool is_named(const subscriber_t *self, bytes_t name)
{
    return strlen(self->name) == name.size
           && memcmp(self->name, name.bytes, name.size) == 0;
}

/* Notes busy and idle of a request, which are in `status` messages alone. A
 * request that is answered beside the kernel's work has no number there. */
static void note_turn(subscription_t *self, const frontend_event_t *event)
{
    jspan_t content, state;
    fault_t ignored;

    if (event->seq || !event->request || event->channel != CHANNEL_IOPUB
        || jspan_check(event->content.bytes, event->content.size, &content,
                       &ignored)
               < 0)
        return;
    state = jspan_member(content, "execution_state");
    if (jspan_text_equals(state, "busy"))
        self->running = event->request;
    else if (jspan_text_equals(state, "idle")
             && (self->running == event->request
                 || self->running == RUNNING_OTHER))
        self->running = 0;
}

static void on_message(subscription_t *self, const frontend_event_t *event)
{
    if (event->seq > self->last_seq)
        self->last_seq = event->seq;
    note_turn(self, event);
    for (subscriber_t *at = first(self); at; at = next(self))
        if (!event->client.size || at->ops->sees_all
            || is_named(at, event->client))
            at->ops->event(at, event);
}

void subscription_on_event(http_t *http, const frontend_event_t *event)
{
    subscription_t *self = subscription_find(http, event->session);

    executions_on_event(http, event);
    if (!self)
        return;
    if (event->what == FRONTEND_EVENT) {
        on_message(self, event);
        if (event->seq)
            wake_followers(self);
        return;
    }
    json_auto_t *json =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    if (event->what == FRONTEND_HELLO)
        on_hello(self, event, json);
    else if (event->what == FRONTEND_STATE)
        on_state(self, json);
    else if (event->what == FRONTEND_BYE)
        on_bye(self, json);
    wake_followers(self);
}

/* --- Time --- */

/* Does what is due. The list of ids is copied first, because a removal disturbs
 * the iteration. */
void subscription_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();
    zlistx_t *ids = zhashx_keys(http->subscriptions);

    for (const char *id = zlistx_first(ids); id; id = zlistx_next(ids)) {
        subscription_t *self = subscription_find(http, id);
        json_auto_t *late = json_object();
        answer(self, late, is_late, &now);
        for (subscriber_t *at = first(self); at; at = next(self))
            at->ops->tick(at, now);
        wake_followers(self);
        if (self->subscribers || self->awaiting || self->followers
            || (!self->is_over && now - self->unused_since < LINGER_MS))
            continue;
        if (!self->is_over)
            frontend_leave(http->frontend, id);
        zhashx_delete(http->subscriptions, id);
    }
    zlistx_destroy(&ids);
}

void subscription_close_all(http_t *http, int status)
{
    for (subscription_t *self = zhashx_first(http->subscriptions); self;
         self = zhashx_next(http->subscriptions))
        end_subscribers(self, status, "the gateway restarts");
}

bool subscription_has_clients(const http_t *http)
{
    for (subscription_t *self = zhashx_first(http->subscriptions); self;
         self = zhashx_next(http->subscriptions))
        if (self->subscribers)
            return true;
    return false;
}
