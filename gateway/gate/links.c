/* See links.h. */
#include "gateway/gate/links.h"

void links_add(links_t *self, gate_link_t *link)
{
    link->next = self->first;
    if (self->first)
        self->first->before = link;
    self->first = link;
    self->count++;
    link->port->links++;
}

void links_close(links_t *self, gate_link_t *link)
{
    if (link->before)
        link->before->next = link->next;
    else
        self->first = link->next;
    if (link->next)
        link->next->before = link->before;
    self->unfinished -= link->follower.unfinished;
    links_set_deadline(self, link, 0);
    links_set_stalled(self, link, 0);
    self->count--;
    link->port->links--;
    if (link->is_subscriber)
        link->port->subscribers--;
    gate_link_close(link);
    link->is_closed = true;
    link->next = self->closed;
    self->closed = link;
}

void links_free_closed(links_t *self)
{
    while (self->closed) {
        gate_link_t *link = self->closed;

        self->closed = link->next;
        gate_link_destroy(&link);
    }
}

void links_clear(links_t *self)
{
    while (self->first)
        links_close(self, self->first);
    links_free_closed(self);
}

void links_set_deadline(links_t *self, gate_link_t *link, int64_t ms)
{
    if (link->deadline_ms != 0)
        self->timed--;
    link->deadline_ms = ms;
    if (ms != 0)
        self->timed++;
}

void links_set_stalled(links_t *self, gate_link_t *link, int64_t ms)
{
    if (link->stalled_ms != 0) {
        self->stalled--;
        link->port->stalled--;
    }
    link->stalled_ms = ms;
    if (ms != 0) {
        self->stalled++;
        link->port->stalled++;
    }
}

gate_link_t *links_find_oldest(const links_t *self)
{
    gate_link_t *oldest = NULL;

    for (gate_link_t *at = self->first; at; at = at->next)
        if (at->follower.unfinished > 0
            && (!oldest || at->begun_ms < oldest->begun_ms))
            oldest = at;
    return oldest;
}
