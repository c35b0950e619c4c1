/* Management requests that wait for an actor's answer: one, or for a listing
 * those of all. */
#include "gateway/registry/internal.h"

#include "base/clock.h"
#include "notebooks/tree.h"

#include <inttypes.h>
#include <string.h>

void pending_destroy(pending_t **pending_p)
{
    pending_t *pending = *pending_p;

    message_destroy(&pending->request);
    json_decref(pending->sessions);
    free(pending);
    *pending_p = NULL;
}

pending_t *pending_new(registry_t *self, message_t **request_p)
{
    pending_t *pending = mem_new(sizeof *pending);

    snprintf(pending->token, sizeof pending->token, "%" PRIu64,
             ++self->counter);
    pending->request = take_ptr(*request_p);
    pending->next = self->pending;
    self->pending = pending;
    return pending;
}

const char *pending_new_start(registry_t *self, message_t **request_p,
                              int64_t asked_us)
{
    pending_t *pending = pending_new(self, request_p);

    pending->asked_us = asked_us;
    return pending->token;
}

static void unlink_pending(registry_t *self, pending_t *pending)
{
    pending_t **at = &self->pending;

    while (*at && *at != pending)
        at = &(*at)->next;
    if (*at)
        *at = pending->next;
    if (pending->timer)
        zloop_timer_end(self->loop, pending->timer);
    pending_destroy(&pending);
}

static pending_t *find_pending(registry_t *self, const char *token)
{
    for (pending_t *at = self->pending; at; at = at->next)
        if (strcmp(at->token, token) == 0)
            return at;
    return NULL;
}

message_t *pending_take_back(registry_t *self, const char *token)
{
    pending_t *pending = find_pending(self, token);
    message_t *request;

    if (!pending)
        return NULL;
    request = take_ptr(pending->request);
    unlink_pending(self, pending);
    return request;
}

static void finish_pending(registry_t *self, pending_t *pending, json_t *answer)
{
    management_reply(self->management, pending->request, answer);
    unlink_pending(self, pending);
}

void pending_fail(registry_t *self, const char *token, const char *ename,
                  int exit_code, const char *evalue)
{
    pending_t *pending = token ? find_pending(self, token) : NULL;

    if (pending)
        finish_pending(self, pending,
                       management_error(ename, exit_code, "%s", evalue));
}

static bool is_listed(const json_t *sessions, const char *id)
{
    const json_t *session;
    size_t i;

    json_array_foreach(
        sessions, i,
        session) if (strcmp(json_string_value(json_object_get(session, "id")),
                            id)
                     == 0) return true;
    return false;
}

/* Those that were asked and have not answered are there all the same. */
static void add_silent(registry_t *self, const pending_t *pending)
{
    for (entry_t *at = self->entries; pending->missing && at; at = at->next)
        if (responses_are_late(at, RESPONSE_MS) && !at->is_pooled
            && !is_listed(pending->sessions, at->id))
            json_array_append_new(pending->sessions, responses_last(at));
}

void pending_finish_listing(registry_t *self, pending_t *pending)
{
    add_silent(self, pending);
    finish_pending(self, pending,
                   json_pack("{s:s,s:o}", "status", "ok", "sessions",
                             tree_sorted(pending->sessions, "created", false)));
}

void pending_started(registry_t *self, const char *token)
{
    const pending_t *pending = find_pending(self, token);

    if (pending)
        tally_start(self->tally, clock_monotonic_us() - pending->asked_us);
}

void pending_done(registry_t *self, const char *token, const char *text)
{
    pending_t *pending = find_pending(self, token);
    json_auto_t *answer = NULL;

    if (!pending)
        return;
    if (!pending->sessions) {
        management_reply_text(self->management, pending->request, text);
        unlink_pending(self, pending);
        return;
    }
    answer = json_loads(text, 0, NULL);
    if (json_object_get(answer, "session"))
        json_array_append(pending->sessions,
                          json_object_get(answer, "session"));
    if (--pending->missing == 0)
        pending_finish_listing(self, pending);
}

static int on_late(zloop_t *loop, int timer, void *arg)
{
    registry_t *self = arg;
    pending_t *at = self->pending;
    const entry_t *entry;

    (void) loop;
    while (at && at->timer != timer)
        at = at->next;
    if (!at)
        return 0;
    at->timer = 0;
    if (at->sessions) {
        pending_finish_listing(self, at);
        return 0;
    }
    entry = registry_find(self, at->session);
    if (entry && responses_are_late(entry, RESPONSE_MS))
        finish_pending(self, at, responses_error(entry));
    return 0;
}

void pending_hurry(registry_t *self, pending_t *pending)
{
    size_t patience = pending->sessions ? RESPONSE_MS : 10 * RESPONSE_MS;

    pending->timer = zloop_timer(self->loop, patience, 1, on_late, self);
}
