/* Whom a session's users are on the host: the two maps of its new user
 * namespace. Who launches writes them, where it may; a launcher without any
 * privilege asks another process for it, its mapper (mapper.c), as newuidmap
 * is asked elsewhere. */
#ifndef HEARTH_SANDBOX_IDMAP_H
#define HEARTH_SANDBOX_IDMAP_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

/* Also what the mapper is asked, in the machine's own order of bytes; it
 * answers with a fault_t, whose code is 0 when it is done. */
typedef struct {
    int32_t pid;       /* as the caller counts; its namespace is new */
    uint32_t uid, gid; /* the payload's on the host */
    uint32_t init_uid, init_gid; /* pid 1's; 0: the payload's */
} idmap_t;

/* `denies_groups`: the price for a map without privilege. */
int idmap_write(const idmap_t *self, bool denies_groups, fault_t *fault);
/* By whoever is at the other end of that SOCK_SEQPACKET socket. */
int idmap_ask(int mapper_fd, const idmap_t *self, fault_t *fault);

#endif
