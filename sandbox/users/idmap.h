/* Writes the two id maps of a session's new user namespace, which say which
 * host users its users are. The launcher writes them if it may. A launcher
 * without privileges asks another process, its mapper (mapper.c), as other
 * programs ask newuidmap. */
#ifndef HEARTH_SANDBOX_USERS_IDMAP_H
#define HEARTH_SANDBOX_USERS_IDMAP_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* Also the request to the mapper, in the machine's own byte order. The mapper
 * answers with a fault_t, whose code is 0 on success. */
typedef struct {
    int32_t pid;       /* by the caller's numbering; its namespace is new */
    uint32_t uid, gid; /* the payload's on the host */
    uint32_t init_uid, init_gid; /* pid 1's; 0: the payload's */
} idmap_t;

/* Writes the maps. `denies_groups`: as an unprivileged map requires. */
int idmap_write(const idmap_t *self, bool denies_groups, fault_t *fault);
/* Asks the mapper at the other end of that SOCK_SEQPACKET socket. */
int idmap_ask(int mapper_fd, const idmap_t *self, fault_t *fault);

#endif
