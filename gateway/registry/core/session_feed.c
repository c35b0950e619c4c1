/* See session_feed.h. */
#include "gateway/registry/core/session_feed.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

#include <stdlib.h>

struct session_feed {
    management_t *management;               /* borrowed */
    session_table_t *table;                 /* borrowed */
    message_t *followers[SESSION_FEED_MAX]; /* owned; the followers' requests */
    size_t count;
};

session_feed_t *session_feed_new(management_t *management,
                                 session_table_t *table)
{
    session_feed_t *self = mem_new(sizeof *self);

    self->management = management;
    self->table = table;
    return self;
}

void session_feed_destroy(session_feed_t **self_p)
{
    session_feed_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        message_destroy(&self->followers[i]);
    free(self);
    *self_p = NULL;
}

/* Returns true if the session is alive and has an owner. */
static bool is_there(const session_entry_t *entry)
{
    return !entry->is_pooled && !session_entry_is_gone(entry);
}

void session_feed_follow(session_feed_t *self, message_t **request_p)
{
    json_t *ids;

    if (self->count >= SESSION_FEED_MAX) {
        management_reply(
            self->management, *request_p,
            management_error("TooManyFollowers", GATEWAY_EXIT_FAILED,
                             "%d follow already", SESSION_FEED_MAX));
        message_destroy(request_p);
        return;
    }
    ids = json_array();
    for (const session_entry_t *at = session_table_first(self->table); at;
         at = session_table_next(at))
        if (is_there(at))
            json_array_append_new(ids, json_string(at->id));
    management_reply(
        self->management, *request_p,
        json_pack("{s:s,s:o,s:[]}", "status", "ok", "there", ids, "gone"));
    self->followers[self->count++] = take_ptr(*request_p);
}

void session_feed_report(session_feed_t *self, session_entry_t *entry)
{
    bool there = is_there(entry);

    if (there == entry->is_announced)
        return;
    entry->is_announced = there;
    for (size_t i = 0; i < self->count; i++)
        management_reply(self->management, self->followers[i],
                         json_pack("{s:s,s:[s]}", "status", "ok",
                                   there ? "there" : "gone", entry->id));
}
