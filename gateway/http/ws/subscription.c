/* See subscription.h. What a session tells is passed to its viewers here; what
 * a viewer does with it is websocket.c's. */
#include "gateway/http/ws/subscription.h"

#include "base/clock.h"
#include "gateway/http/ws/executions.h"
#include "gateway/http/ws/session_set.h"
#include "gateway/http/ws/websocket.h"

#include <string.h>

#define LINGER_MS 60000 /* an attachment without viewers */

struct awaiting {
    exchange_t *exchange; /* borrowed */
    desk_reply_fn *fn;
    int64_t deadline; /* monotonic ms */
    await_t what;
    bool was_away;    /* it has not been ready in between */
    awaiting_t *next; /* owned */
};

struct follower {
    exchange_t *exchange; /* borrowed */
    follower_t *next;     /* owned */
};

static void wake_followers(const watch_t *self)
{
    for (const follower_t *at = self->followers; at; at = at->next)
        connection_wake(at->exchange);
}

static void destroy(void **self_p)
{
    watch_t *self = *self_p;

    wake_followers(self); /* they find that it is over */
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
    while (self->viewers)
        viewer_detach(self->viewers);
    free(self->farewell);
    free(self->state);
    free(self->kernel_session);
    free(self->journal);
    free(self);
    *self_p = NULL;
}

zhashx_t *watch_table_new(void)
{
    zhashx_t *table = zhashx_new();

    zhashx_set_destructor(table, destroy);
    return table;
}

void watch_destroy_all(http_t *http)
{
    zhashx_destroy(&http->watches);
}

watch_t *watch_find(const http_t *http, const char *session)
{
    return zhashx_lookup(http->watches, session);
}

watch_t *watch_open(http_t *http, const char *session, fault_t *fault)
{
    watch_t *self = watch_find(http, session);

    if (self && !self->is_over)
        return self;
    if (front_attach(http->front, session, fault) < 0)
        return NULL;
    if (self) /* its viewers are on their way out */
        zhashx_delete(http->watches, session);
    self = mem_new(sizeof *self);
    self->http = http;
    snprintf(self->id, sizeof self->id, "%s", session);
    self->unused_since = clock_monotonic_ms();
    zhashx_insert(http->watches, self->id, self);
    return self;
}

bool watch_is_alive(const watch_t *self)
{
    return self->is_greeted && !self->is_over
           && strcmp(self->state, "gone") != 0;
}

void watch_add(watch_t *self, viewer_t *viewer)
{
    viewer->next = self->viewers;
    self->viewers = viewer;
}

void watch_remove(watch_t *self, viewer_t *viewer)
{
    viewer_t **at = &self->viewers;

    while (*at && *at != viewer)
        at = &(*at)->next;
    if (*at)
        *at = viewer->next;
    viewer->next = NULL;
    if (!self->viewers)
        self->unused_since = clock_monotonic_ms();
}

unsigned watch_viewer_count(const http_t *http, const char *session)
{
    const watch_t *self = watch_find(http, session);
    unsigned count = 0;

    for (const viewer_t *at = self ? self->viewers : NULL; at; at = at->next)
        count++;
    return count;
}

/* --- Requests that wait --- */

void watch_await(watch_t *self, exchange_t *exchange, await_t what,
                 desk_reply_fn *fn)
{
    awaiting_t *item = mem_new(sizeof *item);

    item->exchange = exchange;
    item->fn = fn;
    item->what = what;
    item->deadline = clock_monotonic_ms() + WATCH_PATIENCE_S * 1000;
    item->next = self->awaiting;
    self->awaiting = item;
}

void watch_follow(watch_t *self, exchange_t *exchange)
{
    follower_t *item = mem_new(sizeof *item);

    item->exchange = exchange;
    item->next = self->followers;
    self->followers = item;
}

static void forget_follower(watch_t *self, const exchange_t *exchange)
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

static void forget(watch_t *self, const exchange_t *exchange)
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

void watch_forget(const exchange_t *exchange)
{
    http_t *http = exchange->http;

    for (watch_t *self = zhashx_first(http->watches); self;
         self = zhashx_next(http->watches))
        forget(self, exchange), forget_follower(self, exchange);
}

/* Those for whom it has come so far; `session` is NULL when it is over. An
 * answer may lead to anything, so the item goes first. */
static void answer(watch_t *self, const json_t *session,
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
    bool is_working = strcmp(state, "idle") == 0 || strcmp(state, "busy") == 0;

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

/* --- What the session tells --- */

static void replace(char **text_p, const char *text)
{
    free(*text_p);
    *text_p = mem_text(text);
}

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* A session that is gone goes on answering, with its reason, so its viewers
 * stay. */
static void on_state(watch_t *self, const json_t *json)
{
    replace(&self->state, member(json, "state"));
    if (strcmp(self->state, "gone") == 0) {
        replace(&self->farewell, member(json, "detail"));
        answer(self, NULL, is_over, NULL);
        return;
    }
    answer(self, json, is_ready, self->state);
}

/* The first one, or again when events were left out. */
static void on_hello(watch_t *self, const front_event_t *event,
                     const json_t *json)
{
    bool is_first = !self->is_greeted;

    self->is_greeted = true;
    self->last_seq = event->seq;
    replace(&self->journal, member(json, "journal"));
    replace(&self->kernel_session, member(json, "kernel_session"));
    on_state(self, json);
    answer(self, json, is_greeted, NULL);
    for (viewer_t *at = self->viewers; at; at = at->next)
        viewer_on_hello(at, is_first);
}

static void on_bye(watch_t *self, const json_t *json)
{
    const char *reason = member(json, "reason");
    bool is_kept =
        strcmp(reason, "drained") == 0 || strcmp(reason, "unattached") == 0;

    self->is_over = true;
    if (!is_kept)
        roster_note(self->http, self->id, false);
    replace(&self->farewell, member(json, "sentence"));
    for (viewer_t *at = self->viewers; at; at = at->next)
        viewer_end(at, is_kept ? VIEWER_CLOSE_RESTART : LWS_CLOSE_STATUS_NORMAL,
                   self->farewell);
    answer(self, NULL, is_over, NULL);
}

static void on_message(watch_t *self, const front_event_t *event)
{
    if (event->seq > self->last_seq)
        self->last_seq = event->seq;
    for (viewer_t *at = self->viewers; at; at = at->next)
        if (!event->viewer.size || viewer_is_named(at, event->viewer))
            viewer_on_event(at, event);
}

void watch_on_event(http_t *http, const front_event_t *event)
{
    watch_t *self = watch_find(http, event->session);

    runs_on_event(http, event);
    if (!self)
        return;
    if (event->what == FRONT_EVENT) {
        on_message(self, event);
        if (event->seq)
            wake_followers(self);
        return;
    }
    json_auto_t *json =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    if (event->what == FRONT_HELLO)
        on_hello(self, event, json);
    else if (event->what == FRONT_STATE)
        on_state(self, json);
    else if (event->what == FRONT_BYE)
        on_bye(self, json);
    wake_followers(self);
}

/* --- Time --- */

/* The list of ids first: removing disturbs the walk. */
void watch_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();
    zlistx_t *ids = zhashx_keys(http->watches);

    for (const char *id = zlistx_first(ids); id; id = zlistx_next(ids)) {
        watch_t *self = watch_find(http, id);
        json_auto_t *late = json_object();
        answer(self, late, is_late, &now);
        for (viewer_t *at = self->viewers; at; at = at->next)
            viewer_on_tick(at, now);
        wake_followers(self);
        if (self->viewers || self->awaiting || self->followers
            || (!self->is_over && now - self->unused_since < LINGER_MS))
            continue;
        if (!self->is_over)
            front_leave(http->front, id);
        zhashx_delete(http->watches, id);
    }
    zlistx_destroy(&ids);
}

void watch_close_all(http_t *http, int status)
{
    for (watch_t *self = zhashx_first(http->watches); self;
         self = zhashx_next(http->watches))
        for (viewer_t *at = self->viewers; at; at = at->next)
            viewer_end(at, status, "the gateway restarts");
}

bool watch_has_viewers(const http_t *http)
{
    for (watch_t *self = zhashx_first(http->watches); self;
         self = zhashx_next(http->watches))
        if (self->viewers)
            return true;
    return false;
}
