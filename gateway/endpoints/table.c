/* See table.h. The thread is a frontend: it attaches to each session that an
 * endpoint leads to, and leaves it with the last one. */
#include "gateway/endpoints/table.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/endpoints/relay.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct endpoint_table {
    const endpoint_home_t *home; /* borrowed */
    audit_writer_t *audit;       /* borrowed */
    zhashx_t *targets;           /* owned; id -> endpoint_target_t */
    endpoint_t *first;           /* owned */
    size_t count;
    bool ends_sessions; /* with the gateway */
};

static void destroy_target(void **target_p)
{
    endpoint_target_t *target = *target_p;

    free(target->journal);
    free(target);
    *target_p = NULL;
}

endpoint_table_t *endpoint_table_new(const endpoint_home_t *home,
                                     audit_writer_t *audit)
{
    endpoint_table_t *self = mem_new(sizeof *self);

    self->home = home;
    self->audit = audit;
    self->targets = zhashx_new();
    zhashx_set_destructor(self->targets, destroy_target);
    return self;
}

void endpoint_table_end_sessions(endpoint_table_t *self)
{
    self->ends_sessions = true;
}

const endpoint_home_t *endpoint_table_home(const endpoint_table_t *self)
{
    return self->home;
}

static void take_out(endpoint_table_t *self, const endpoint_t *endpoint)
{
    endpoint_t **at = &self->first;

    while (*at != endpoint)
        at = &(*at)->next;
    *at = endpoint->next;
    self->count--;
}

void endpoint_table_destroy(endpoint_table_t **self_p)
{
    endpoint_table_t *self = *self_p;

    if (!self)
        return;
    while (self->first) {
        endpoint_t *endpoint = self->first;

        take_out(self, endpoint);
        endpoint_note(endpoint);
        /* A tombstone answers to no client without a gateway. */
        if (endpoint->target->is_gone || self->ends_sessions)
            endpoint_remove(&endpoint);
        endpoint_destroy(&endpoint);
    }
    zhashx_destroy(&self->targets);
    free(self);
    *self_p = NULL;
}

endpoint_target_t *endpoint_table_target(const endpoint_table_t *self,
                                         const char *session)
{
    return zhashx_lookup(self->targets, session);
}

endpoint_target_t *endpoint_table_find_target(endpoint_table_t *self,
                                              const char *session,
                                              fault_t *fault)
{
    endpoint_target_t *target = endpoint_table_target(self, session);

    if (target)
        return target;
    if (frontend_attach(self->home->frontend, session, fault) < 0)
        return NULL;
    target = mem_new(sizeof *target);
    snprintf(target->id, sizeof target->id, "%s", session);
    zhashx_insert(self->targets, target->id, target);
    return target;
}

void endpoint_table_forget_target(endpoint_table_t *self,
                                  endpoint_target_t *target)
{
    for (const endpoint_t *at = self->first; at; at = at->next)
        if (at->target == target)
            return;
    frontend_leave(self->home->frontend, target->id);
    zhashx_delete(self->targets, target->id);
}

void endpoint_table_attach_lost(endpoint_table_t *self)
{
    fault_t fault;

    for (endpoint_target_t *at = zhashx_first(self->targets); at;
         at = zhashx_next(self->targets))
        if (at->is_lost
            && frontend_attach(self->home->frontend, at->id, &fault) == 0)
            at->is_lost = false;
}

void endpoint_table_add(endpoint_table_t *self, endpoint_t *endpoint)
{
    endpoint->next = self->first;
    self->first = endpoint;
    self->count++;
    relay_listen(endpoint);
    if (endpoint->target->is_greeted)
        self->home->ops->soon(self->home->arg);
}

void endpoint_table_restore(endpoint_table_t *self, const char *name)
{
    char session[FRONTEND_ID_MAX];
    endpoint_t *endpoint = NULL;
    fault_t fault;

    if (self->count >= ENDPOINTS_MAX
        || endpoint_restore(self->home, name, &endpoint, session, &fault) < 0) {
        log_warning("viewer=%s not opened again: %s", name,
                    self->count >= ENDPOINTS_MAX ? "too many" : fault.text);
        return;
    }
    endpoint->target = endpoint_table_find_target(self, session, &fault);
    if (!endpoint->target) {
        log_warning("viewer=%s not opened again: %s", name, fault.text);
        endpoint_destroy(&endpoint);
        return;
    }
    endpoint_table_add(self, endpoint);
}

void endpoint_table_close(endpoint_table_t *self, endpoint_t *endpoint,
                          const char *who, const char *why)
{
    endpoint_target_t *target = endpoint->target;

    take_out(self, endpoint);
    log_notice("viewer=%s session=%s closed: %s", endpoint->name, target->id,
               why);
    audit_writer_note_by(
        self->audit, who, "viewer_close", target->id, "ok",
        json_pack("{s:s,s:s}", "viewer", endpoint->name, "why", why));
    endpoint_remove(&endpoint);
    endpoint_table_forget_target(self, target);
}

bool endpoint_table_make_room(endpoint_table_t *self)
{
    endpoint_t *oldest = NULL;

    for (endpoint_t *at = self->first; at; at = at->next)
        if (at->target->is_gone)
            oldest = at;
    if (oldest && self->count >= ENDPOINTS_MAX)
        endpoint_table_close(self, oldest, AUDIT_GATEWAY,
                             "others need its place");
    return self->count < ENDPOINTS_MAX;
}

size_t endpoint_table_count(const endpoint_table_t *self)
{
    return self->count;
}

endpoint_t *endpoint_table_first(const endpoint_table_t *self)
{
    return self->first;
}

endpoint_t *endpoint_table_find(const endpoint_table_t *self, const char *name)
{
    endpoint_t *at = self->first;

    while (at && strcmp(at->name, name) != 0)
        at = at->next;
    return at;
}
