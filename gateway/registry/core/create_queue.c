/* See create_queue.h. */
#include "gateway/registry/core/create_queue.h"

#include "base/buffer.h"
#include "gateway/registry/core/replacements.h"

#include <stdlib.h>
#include <string.h>

/* A request that waits. */
typedef struct waiting_create {
    struct waiting_create *next; /* owned */
    message_t *request;          /* owned */
    json_t *content;             /* of the request, parsed; a reference */
    char *older;      /* owned; the id of the session whose end it waits
                         for; or NULL */
    int64_t asked_us; /* monotonic */
} waiting_create_t;

struct create_queue {
    const session_table_t *table; /* borrowed */
    waiting_create_t *first;      /* owned; in the order they came */
    waiting_create_t **end;       /* where the next one is added */
    size_t count;
    size_t replacing; /* of them, those with an older session */
};

create_queue_t *create_queue_new(const session_table_t *table)
{
    create_queue_t *self = mem_new(sizeof *self);

    self->table = table;
    self->end = &self->first;
    return self;
}

/* Takes the request at `place` out of the queue. The caller owns it, and a
 * reference to its content if `ret_content` is not NULL. */
static message_t *take(create_queue_t *self, waiting_create_t **place,
                       json_t **ret_content)
{
    waiting_create_t *found = *place;
    message_t *request = found->request;

    *place = found->next;
    if (self->end == &found->next)
        self->end = place;
    self->replacing -= found->older != NULL;
    self->count--;
    if (ret_content)
        *ret_content = take_ptr(found->content);
    json_decref(found->content);
    free(found->older);
    free(found);
    return request;
}

void create_queue_destroy(create_queue_t **self_p)
{
    create_queue_t *self = *self_p;
    message_t *request;

    if (!self)
        return;
    while ((request = create_queue_give_up(self)))
        message_destroy(&request);
    free(self);
    *self_p = NULL;
}

/* Has the request wait for the end of `older`; NULL: for its turn. */
static void await_end(create_queue_t *self, waiting_create_t *waiting,
                      const session_entry_t *older)
{
    self->replacing -= waiting->older != NULL;
    self->replacing += older != NULL;
    free(waiting->older);
    waiting->older = older ? mem_text(older->id) : NULL;
    if (older)
        replacements_end(older);
}

void create_queue_add(create_queue_t *self, json_t *content,
                      message_t **request_p, const session_entry_t *older,
                      int64_t asked_us)
{
    waiting_create_t *waiting = mem_new(sizeof *waiting);

    waiting->request = take_ptr(*request_p);
    waiting->content = json_incref(content);
    waiting->asked_us = asked_us;
    *self->end = waiting;
    self->end = &waiting->next;
    self->count++;
    await_end(self, waiting, older);
}

/* Returns the session whose end the request waits for; NULL: its turn. */
static const session_entry_t *older_of(const create_queue_t *self,
                                       const waiting_create_t *waiting)
{
    return waiting->older ? session_table_find_any(self->table, waiting->older)
                          : NULL;
}

message_t *create_queue_next(create_queue_t *self, json_t **ret_content,
                             int64_t *ret_asked_us)
{
    for (waiting_create_t **place = &self->first; *place;
         place = &(*place)->next) {
        waiting_create_t *waiting = *place;

        if (older_of(self, waiting))
            continue;
        if (waiting->older)
            await_end(self, waiting,
                      replacements_find(self->table, waiting->content));
        if (waiting->older)
            continue;
        *ret_asked_us = waiting->asked_us;
        return take(self, place, ret_content);
    }
    return NULL;
}

message_t *create_queue_give_up(create_queue_t *self)
{
    return self->first ? take(self, &self->first, NULL) : NULL;
}

size_t create_queue_size(const create_queue_t *self)
{
    return self->count;
}

bool create_queue_awaits(const create_queue_t *self,
                         const session_entry_t *older)
{
    for (const waiting_create_t *at = self->first; at; at = at->next)
        if (at->older && strcmp(at->older, older->id) == 0)
            return true;
    return false;
}

bool create_queue_has_line(const create_queue_t *self)
{
    if (self->replacing == 0)
        return self->count > 0;
    for (const waiting_create_t *at = self->first; at; at = at->next)
        if (!older_of(self, at))
            return true;
    return false;
}

size_t create_queue_sessions(const create_queue_t *self)
{
    size_t count = 0;

    if (self->replacing == 0)
        return self->count;
    for (const waiting_create_t *at = self->first; at; at = at->next) {
        const session_entry_t *older = older_of(self, at);

        if (!older || session_entry_is_gone(older))
            count++;
    }
    return count;
}
