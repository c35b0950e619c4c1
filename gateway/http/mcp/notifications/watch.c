/* See watch.h. */
#include "gateway/http/mcp/notifications/watch.h"

#include "gateway/http/core/authorize.h"
#include "gateway/http/mcp/elicitation/question.h"
#include "gateway/http/mcp/tasks/tasks.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/subscriptions/session_set.h"
#include "gateway/http/subscriptions/subscription.h"

#include <string.h>

static void clear_item(watch_item_t *item)
{
    free(item->name);
    *item = (watch_item_t){0};
}

void watch_clear(watch_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        clear_item(&self->items[i]);
    self->count = 0;
    json_decref(self->accepted);
    self->accepted = NULL;
}

static void remove_at(watch_t *self, size_t i)
{
    clear_item(&self->items[i]);
    self->items[i] = self->items[--self->count];
    self->items[self->count] = (watch_item_t){0};
}

/* Returns the place of the item with that name, or `count`. */
static size_t find(const watch_t *self, const char *name)
{
    size_t i = 0;

    while (i < self->count && strcmp(self->items[i].name, name) != 0)
        i++;
    return i;
}

void watch_remove(watch_t *self, const char *name)
{
    size_t i = find(self, name);

    if (i < self->count)
        remove_at(self, i);
}

bool watch_has(const watch_t *self, const char *name)
{
    return find(self, name) < self->count;
}

static bool is_file(const watch_item_t *item)
{
    return !*item->run && item->kind == RESOURCE_IS_FILE;
}

/* --- What is watched --- */

/* Returns true if the session lives, and the endpoint may see it. */
static bool is_there(const mcp_call_t *call, const char *session)
{
    return session_set_has(call->exchange->http, session)
           && call_reaches(call, session);
}

/* Gets the session's events as long as the stream lives. */
static void follow(const watch_t *self, const char *session)
{
    exchange_t *exchange = self->call->exchange;
    subscription_t *subscription;
    fault_t fault;

    if (subscription_is_followed(exchange, session))
        return;
    subscription = subscription_open(exchange->http, session, &fault);
    if (subscription)
        subscription_follow(subscription, exchange);
}

/* Adds an item; NULL: there are too many. */
static watch_item_t *add(watch_t *self, const char *name, const char *session)
{
    watch_item_t *item;

    watch_remove(self, name);
    if (self->count == WATCH_MAX)
        return NULL;
    item = &self->items[self->count++];
    item->name = mem_text(name);
    snprintf(item->session, sizeof item->session, "%s", session);
    if (self->call)
        follow(self, session);
    return item;
}

bool watch_add_resource(watch_t *self, const mcp_call_t *call, const char *uri)
{
    resource_uri_t read;
    watch_item_t *item;

    if (!resource_uri_read(uri, &read) || read.kind == RESOURCE_IS_OUTPUT
        || (read.kind == RESOURCE_IS_FILE
            && !(call->exchange->scopes & SCOPE_FILES))
        || !is_there(call, read.session))
        return false;
    item = add(self, uri, read.session);
    if (item)
        item->kind = read.kind;
    return item != NULL;
}

bool watch_add_task(watch_t *self, const mcp_call_t *call, const char *id)
{
    watch_item_t *item;
    task_id_t read;

    if (!task_id_read(id, &read) || !is_there(call, read.session))
        return false;
    item = add(self, id, read.session);
    if (item)
        snprintf(item->run, sizeof item->run, "%s", read.run);
    return item != NULL;
}

/* --- Sending --- */

static void send_notification(const watch_t *self, const char *method,
                              json_t *params)
{
    if (self->call->era == ERA_MODERN)
        json_object_set_new(params, "_meta",
                            json_pack("{s:o}", WATCH_SUBSCRIPTION,
                                      json_deep_copy(self->call->message.id)));
    call_notify(self->call, method, params);
}

/* Sends the progress of the task if it has changed. Returns false if nothing
 * more can come. */
static bool send_task(const watch_t *self, watch_item_t *item)
{
    http_t *http = self->call->exchange->http;
    const subscription_t *subscription = subscription_find(http, item->session);
    executions_t *runs;
    const execution_t *run;
    fault_t fault;

    if (!subscription || !subscription->journal)
        return true;
    runs = executions_of(http, item->session, subscription->journal, &fault);
    run = runs ? executions_find(runs, item->run) : NULL;
    if (!run || !run->number)
        return false;
    const char *status = tasks_status(self->call, runs, run);
    if (strcmp(status, item->status) == 0
        && run->question_seq == item->question)
        return true;
    snprintf(item->status, sizeof item->status, "%s", status);
    item->question = run->question_seq;
    send_notification(self, "notifications/tasks",
                      tasks_model(self->call, item->session, runs, run));
    return run->state != EXECUTION_DONE && run->state != EXECUTION_REFUSED;
}

/* Sends the events that are due. When a task ends, its earlier states are not
 * sent. */
static void flush(watch_t *self)
{
    if (!call_is_drained(self->call))
        return;
    if (self->list_is_due)
        send_notification(self, "notifications/resources/list_changed",
                          json_object());
    self->list_is_due = false;
    for (size_t i = self->count; i > 0; i--) {
        watch_item_t *item = &self->items[i - 1];

        if (!item->is_due)
            continue;
        item->is_due = false;
        if (!*item->run)
            send_notification(self, "notifications/resources/updated",
                              json_pack("{s:s}", "uri", item->name));
        else if (!send_task(self, item))
            remove_at(self, i - 1);
    }
}

/* --- Files --- */

void watch_ask(exchange_t *exchange, const resource_uri_t *uri,
               registry_client_reply_fn *fn)
{
    files_client_ask(
        exchange, "files_look_request",
        json_pack("{s:s,s:[s]}", "id", uri->session, "paths", uri->path), fn);
}

const char *watch_version_in(const json_t *reply, const resource_uri_t *uri)
{
    return json_string_value(
        json_object_get(json_object_get(reply, "versions"), uri->path));
}

void watch_note_version(watch_t *self, const char *uri, const char *version)
{
    watch_item_t *item = &self->items[find(self, uri)];

    snprintf(item->version, sizeof item->version, "%s", version);
}

/* Takes what the file is now from a reply. An error has no version: the session
 * and its workspace may be gone. */
static void take_version(watch_item_t *item, const json_t *reply)
{
    resource_uri_t uri;
    const char *version = resource_uri_read(item->name, &uri)
                              ? watch_version_in(reply, &uri)
                              : NULL;

    item->is_looked = true;
    if (!version)
        return;
    item->is_due |= *item->version && strcmp(item->version, version) != 0;
    snprintf(item->version, sizeof item->version, "%s", version);
}

/* Returns the paths of the files of the session that is looked at. */
static json_t *paths_of(const watch_t *self)
{
    json_t *paths = json_array();
    resource_uri_t uri;

    for (size_t i = 0; i < self->count; i++)
        if (is_file(&self->items[i])
            && strcmp(self->items[i].session, self->looked) == 0
            && resource_uri_read(self->items[i].name, &uri))
            json_array_append_new(paths, json_string(uri.path));
    return paths;
}

/* Forgets files without a version: no file can have such a path. */
static void forget_refused(watch_t *self)
{
    for (size_t i = self->count; i > 0; i--)
        if (is_file(&self->items[i - 1]) && !*self->items[i - 1].version)
            remove_at(self, i - 1);
}

static void look_on(watch_t *self, mcp_call_t *call);

static void on_looked(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    watch_t *self = call->state;

    if (!self) /* a newer stream has taken its place */
        return;
    for (size_t i = 0; i < self->count; i++)
        if (is_file(&self->items[i])
            && strcmp(self->items[i].session, self->looked) == 0)
            take_version(&self->items[i], reply);
    look_on(self, call);
}

static void end_round(watch_t *self, mcp_call_t *call)
{
    void (*ready)(mcp_call_t * call) = self->ready;

    self->is_looking = false;
    if (!ready) {
        flush(self);
        return;
    }
    self->ready = NULL;
    forget_refused(self);
    ready(call);
}

/* Looks at the files of the next session, or ends the round. */
static void look_on(watch_t *self, mcp_call_t *call)
{
    size_t i = 0;

    while (i < self->count
           && (!is_file(&self->items[i]) || self->items[i].is_looked))
        i++;
    if (i == self->count) {
        end_round(self, call);
        return;
    }
    snprintf(self->looked, sizeof self->looked, "%s", self->items[i].session);
    files_client_ask(
        call->exchange, "files_look_request",
        json_pack("{s:s,s:o}", "id", self->looked, "paths", paths_of(self)),
        on_looked);
}

static void begin_round(watch_t *self, mcp_call_t *call)
{
    if (self->is_looking)
        return;
    self->is_looking = true;
    for (size_t i = 0; i < self->count; i++) {
        watch_item_t *item = &self->items[i];

        item->is_looked = false;
        item->is_last = !session_set_has(call->exchange->http, item->session);
    }
    look_on(self, call);
}

void watch_prepare(watch_t *self, mcp_call_t *call,
                   void (*ready)(mcp_call_t *call))
{
    self->ready = ready;
    begin_round(self, call);
}

/* --- The stream --- */

/* Returns true if the endpoint's session is in the list. */
static bool has_bound(const watch_t *self)
{
    const mcp_call_t *call = self->call;

    return call->bound && session_set_has(call->exchange->http, call->bound);
}

void watch_begin(watch_t *self, mcp_call_t *call)
{
    self->call = call;
    self->is_looking = false; /* an older stream's look is not answered */
    self->had_bound = has_bound(self);
    for (size_t i = 0; i < self->count; i++) {
        follow(self, self->items[i].session);
        /* Changes that were reported while there was no stream are lost, so a
         * change is assumed. */
        self->items[i].is_due |= *self->items[i].run || call->era == ERA_LEGACY;
    }
    flush(self);
}

/* --- What is heard --- */

static bool has_type(const frontend_event_t *event, const char *type)
{
    jspan_t header;
    fault_t fault;

    return jspan_check(event->header.bytes, event->header.size, &header, &fault)
               == 0
           && jspan_text_equals(jspan_member(header, "msg_type"), type);
}

/* Returns true if the kernel is idle again after this request. */
static bool is_idle(const frontend_event_t *event)
{
    jspan_t content;
    fault_t fault;

    return has_type(event, "status")
           && jspan_check(event->content.bytes, event->content.size, &content,
                          &fault)
                  == 0
           && jspan_text_equals(jspan_member(content, "execution_state"),
                                "idle");
}

/* Returns true if the event ends a cell. */
static bool ends_cell(watch_item_t *item, const frontend_event_t *event)
{
    if (event->channel != CHANNEL_IOPUB || !event->request)
        return false;
    if (item->cell != event->request) {
        if (has_type(event, "execute_input"))
            item->cell = event->request;
        return false;
    }
    if (!is_idle(event))
        return false;
    item->cell = 0;
    return true;
}

static bool is_news(watch_item_t *item, const frontend_event_t *event)
{
    if (is_file(item))
        return false; /* it is looked at each second */
    if (event->what != FRONTEND_EVENT)
        return true; /* its state, its end, or events were left out */
    if (*item->run)
        return event->channel != CHANNEL_IOPUB;
    return item->kind == RESOURCE_IS_NOTEBOOK && ends_cell(item, event);
}

/* Returns true if the endpoint's list is another one, now that sessions have
 * come or gone. */
static bool has_new_list(watch_t *self)
{
    bool had_bound = self->had_bound;

    self->had_bound = has_bound(self);
    return !self->call->bound || had_bound != self->had_bound;
}

void watch_on_event(watch_t *self, const frontend_event_t *event)
{
    if (event->what == FRONTEND_SESSIONS && has_new_list(self))
        self->list_is_due |= self->has_list;
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->items[i].session, event->session) == 0
            && is_news(&self->items[i], event))
            self->items[i].is_due = true;
    flush(self);
}

/* Returns true if nothing more can come of an item, whose session has gone. A
 * file may have changed until then: it is looked at once more. */
static bool is_over(const watch_item_t *item)
{
    return !item->is_due
           && (!is_file(item) || (item->is_last && item->is_looked));
}

/* Sends that a session has gone, and forgets the session. */
void watch_on_tick(watch_t *self)
{
    const http_t *http = self->call->exchange->http;

    for (size_t i = 0; i < self->count; i++) {
        watch_item_t *item = &self->items[i];

        if (session_set_has(http, item->session))
            follow(self, item->session);
        if (*item->run)
            item->is_due = true;
    }
    flush(self);
    for (size_t i = self->count; i > 0; i--)
        if (is_over(&self->items[i - 1])
            && !session_set_has(http, self->items[i - 1].session))
            remove_at(self, i - 1);
    begin_round(self, self->call);
}
