/* All connections of the gate, and what is counted over them. Plain data; all
 * zero at the beginning. */
#ifndef HEARTH_GATEWAY_GATE_LINKS_H
#define HEARTH_GATEWAY_GATE_LINKS_H

#include "gateway/gate/link.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    gate_link_t *first;  /* owned */
    gate_link_t *closed; /* owned; to be freed by links_free_closed */
    size_t count;
    size_t timed;        /* with a deadline */
    size_t stalled;      /* whose clients take nothing */
    uint64_t unfinished; /* cost of their unfinished messages */
} links_t;

/* Takes a link. */
void links_add(links_t *self, gate_link_t *link);
/* Closes a link now. It is freed later: epoll may have reported it already. */
void links_close(links_t *self, gate_link_t *link);
void links_free_closed(links_t *self);
void links_clear(links_t *self);

/* Sets when the link must have begun or ended; 0: there is no deadline. */
void links_set_deadline(links_t *self, gate_link_t *link, int64_t ms);
/* Sets since when the client takes nothing; 0: it takes what comes. */
void links_set_stalled(links_t *self, gate_link_t *link, int64_t ms);
/* Returns the link whose message has been unfinished for longest; NULL if every
 * message is complete. */
gate_link_t *links_find_oldest(const links_t *self);

#endif
