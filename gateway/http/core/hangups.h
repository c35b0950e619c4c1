/* Connections that are not read at the moment: finds those whose clients have
 * closed them. A client that only ends what it sends counts as one that has
 * gone, as it does when libwebsockets reads. Belongs to HTTP's thread. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_HANGUPS_H
#define HEARTH_GATEWAY_HTTP_CORE_HANGUPS_H

#include "base/cleanup.h"
#include "base/fault.h"

typedef struct hangups hangups_t;

/* Returns 0, or -EXXX if the system has no descriptor. */
int hangups_new(hangups_t **ret_self, fault_t *fault);
void hangups_destroy(hangups_t **self_p);
#define cleanup_hangups CLEANUP(hangups_destroy)

/* Returns the descriptor, lent, that is readable while hangups_next has one. */
int hangups_fd(const hangups_t *self);
/* Watches the connection until hangups_forget. `owner` is borrowed. */
void hangups_watch(hangups_t *self, int fd, void *owner);
void hangups_forget(hangups_t *self, int fd);
/* Returns the owner of a connection that its client has closed, each once; NULL
 * if no further connection was closed. */
void *hangups_next(hangups_t *self);

#endif
