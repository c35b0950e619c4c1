/* See pending_requests.h. */
#include "gateway/registry/core/pending_requests.h"

#include "base/buffer.h"
#include "gateway/frontends/management_error.h"
#include "notebooks/json/tree.h"

#include <stdlib.h>
#include <string.h>

typedef struct pending {
    struct pending *next; /* owned */
    uint64_t token;
    char session[SESSION_ID_MAX]; /* whose actor answers; "": not an actor */
    message_t *request;           /* owned */
    json_t *content;              /* of a start, parsed; a reference, or NULL */
    json_t *sessions;             /* owned; of a listing so far, or NULL */
    size_t missing;               /* answers to the listing still to come */
    int64_t deadline_ms;          /* monotonic; 0: none */
    int64_t asked_us;             /* monotonic; of a session's start */
} pending_t;

struct pending_requests {
    management_t *management; /* borrowed */
    session_table_t *table;   /* borrowed */
    stats_t *stats;           /* borrowed */
    pending_t *first;         /* owned */
    uint64_t counter;         /* of tokens */
};

pending_requests_t *pending_requests_new(management_t *management,
                                         session_table_t *table, stats_t *stats)
{
    pending_requests_t *self = mem_new(sizeof *self);

    self->management = management;
    self->table = table;
    self->stats = stats;
    return self;
}

static void pending_destroy(pending_t **pending_p)
{
    pending_t *pending = *pending_p;

    message_destroy(&pending->request);
    json_decref(pending->content);
    json_decref(pending->sessions);
    free(pending);
    *pending_p = NULL;
}

void pending_requests_destroy(pending_requests_t **self_p)
{
    pending_requests_t *self = *self_p;

    if (!self)
        return;
    while (self->first) {
        pending_t *first = self->first;

        self->first = first->next;
        pending_destroy(&first);
    }
    free(self);
    *self_p = NULL;
}

static pending_t *add(pending_requests_t *self, message_t **request_p)
{
    pending_t *pending = mem_new(sizeof *pending);

    pending->token = ++self->counter;
    pending->request = take_ptr(*request_p);
    pending->next = self->first;
    self->first = pending;
    return pending;
}

uint64_t pending_requests_add(pending_requests_t *self, message_t **request_p)
{
    return add(self, request_p)->token;
}

uint64_t pending_requests_add_start(pending_requests_t *self,
                                    json_t *content_or_null,
                                    message_t **request_p, int64_t asked_us)
{
    pending_t *pending = add(self, request_p);

    pending->content = json_incref(content_or_null);
    pending->asked_us = asked_us;
    return pending->token;
}

uint64_t pending_requests_add_for(pending_requests_t *self,
                                  message_t **request_p, const char *session,
                                  int64_t deadline_ms)
{
    pending_t *pending = add(self, request_p);

    snprintf(pending->session, sizeof pending->session, "%s", session);
    pending->deadline_ms = deadline_ms;
    return pending->token;
}

/* Takes the request out of the list and frees it. */
static void end(pending_requests_t *self, pending_t *pending)
{
    pending_t **at = &self->first;

    while (*at != pending)
        at = &(*at)->next;
    *at = pending->next;
    pending_destroy(&pending);
}

static void finish(pending_requests_t *self, pending_t *pending, json_t *answer)
{
    management_reply(self->management, pending->request, answer);
    end(self, pending);
}

static pending_t *find(const pending_requests_t *self, uint64_t token)
{
    pending_t *at = self->first;

    while (at && at->token != token)
        at = at->next;
    return at;
}

static bool is_listed(const json_t *sessions, const char *id)
{
    const json_t *session;
    size_t i;

    json_array_foreach(sessions, i, session)
    {
        const char *other = json_string_value(json_object_get(session, "id"));

        if (other && strcmp(other, id) == 0)
            return true;
    }
    return false;
}

/* Adds the sessions that were asked and have not answered. */
static void add_late(const pending_requests_t *self, const pending_t *pending,
                     int64_t now_ms)
{
    for (const session_entry_t *at = session_table_first(self->table); at;
         at = session_table_next(at))
        if (!at->is_pooled
            && responses_are_late(&at->response, RESPONSE_MS, now_ms)
            && !is_listed(pending->sessions, at->id))
            json_array_append_new(
                pending->sessions,
                responses_last(&at->response, at->id, at->profile->name));
}

static void finish_listing(pending_requests_t *self, pending_t *pending,
                           int64_t now_ms)
{
    if (pending->missing)
        add_late(self, pending, now_ms);
    finish(self, pending,
           json_pack("{s:s,s:o}", "status", "ok", "sessions",
                     json_tree_sorted(pending->sessions, "created", false)));
}

static void ask(session_entry_t *entry, uint64_t token, int64_t now_ms)
{
    responses_asked(&entry->response, now_ms);
    mailbox_line_send(entry->line, session_command_new(SESSION_SHOW, token));
}

void pending_requests_list(pending_requests_t *self, message_t **request_p,
                           bool wants_gone, int64_t now_ms)
{
    pending_t *pending = add(self, request_p);

    pending->sessions = json_array();
    for (session_entry_t *at = session_table_first(self->table); at;
         at = session_table_next(at)) {
        if (at->is_pooled || (session_entry_is_gone(at) && !wants_gone))
            continue;
        if (responses_are_late(&at->response, RESPONSE_MS, now_ms)) {
            json_array_append_new(
                pending->sessions,
                responses_last(&at->response, at->id, at->profile->name));
            continue;
        }
        pending->missing++;
        ask(at, pending->token, now_ms);
    }
    pending->deadline_ms = now_ms + RESPONSE_MS;
    if (!pending->missing)
        finish_listing(self, pending, now_ms);
}

void pending_requests_answer(pending_requests_t *self, uint64_t token,
                             json_t *answer, int64_t now_ms)
{
    pending_t *pending = find(self, token);
    json_t *session = json_object_get(answer, "session");

    if (pending && !pending->sessions) {
        finish(self, pending, json_incref(answer));
    } else if (pending) {
        if (session)
            json_array_append(pending->sessions, session);
        if (--pending->missing == 0)
            finish_listing(self, pending, now_ms);
    }
    json_decref(answer);
}

void pending_requests_answer_text(pending_requests_t *self, uint64_t token,
                                  const char *text)
{
    pending_t *pending = find(self, token);

    if (!pending)
        return;
    management_reply_text(self->management, pending->request, text);
    end(self, pending);
}

void pending_requests_fail(pending_requests_t *self, uint64_t token,
                           const char *ename, int exit_code, const char *evalue)
{
    pending_t *pending = find(self, token);

    if (pending)
        finish(self, pending, management_error(ename, exit_code, "%s", evalue));
}

void pending_requests_started(pending_requests_t *self, uint64_t token,
                              int64_t now_us)
{
    const pending_t *pending = find(self, token);

    if (pending)
        stats_start(self->stats, now_us - pending->asked_us);
}

/* Takes the request out of the list; the caller owns it. */
static message_t *take_back(pending_requests_t *self, pending_t *pending)
{
    message_t *request = take_ptr(pending->request);

    end(self, pending);
    return request;
}

message_t *pending_requests_take_back(pending_requests_t *self, uint64_t token,
                                      json_t **ret_content)
{
    pending_t *pending = find(self, token);

    if (!pending)
        return NULL;
    *ret_content = take_ptr(pending->content);
    return take_back(self, pending);
}

message_t *pending_requests_take_back_of(pending_requests_t *self,
                                         const char *session)
{
    for (pending_t *at = self->first; at; at = at->next)
        if (strcmp(at->session, session) == 0)
            return take_back(self, at);
    return NULL;
}

int64_t pending_requests_deadline(const pending_requests_t *self)
{
    int64_t soonest = INT64_MAX;

    for (const pending_t *at = self->first; at; at = at->next)
        if (at->deadline_ms && at->deadline_ms < soonest)
            soonest = at->deadline_ms;
    return soonest;
}

/* Expires a request. If its session has answered others meanwhile, it is not
 * late, and the request waits on. */
static void expire(pending_requests_t *self, pending_t *pending, int64_t now_ms)
{
    const session_entry_t *entry;

    pending->deadline_ms = 0;
    if (pending->sessions) {
        finish_listing(self, pending, now_ms);
        return;
    }
    entry = session_table_find(self->table, pending->session);
    if (entry && responses_are_late(&entry->response, RESPONSE_MS, now_ms))
        finish(self, pending,
               responses_error(&entry->response, entry->id, now_ms));
}

void pending_requests_expire(pending_requests_t *self, int64_t now_ms)
{
    pending_t *next;

    for (pending_t *at = self->first; at; at = next) {
        next = at->next;
        if (at->deadline_ms && at->deadline_ms <= now_ms)
            expire(self, at, now_ms);
    }
}
