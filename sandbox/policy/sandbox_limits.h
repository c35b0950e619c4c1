/* The limits of one launch: those of each process, and the sizes of /tmp and
 * /dev/shm. Plain data. */
#ifndef HEARTH_SANDBOX_POLICY_SANDBOX_LIMITS_H
#define HEARTH_SANDBOX_POLICY_SANDBOX_LIMITS_H

#include <stdint.h>

/* A value of 0 is the default. A limit above the caller's own hard limit is
 * lowered to that. */
typedef struct {
    uint64_t address_space; /* RLIMIT_AS, bytes; default: unlimited */
    uint64_t file_size;     /* RLIMIT_FSIZE, bytes; default 1 GiB */
    uint64_t open_files;    /* RLIMIT_NOFILE; default 1024 */
    uint64_t processes;     /* RLIMIT_NPROC; default 512 */
    uint64_t cpu_seconds;   /* RLIMIT_CPU; default: unlimited */
    uint64_t tmp;           /* bytes of /tmp; 256 MiB */
    uint64_t shm;           /* bytes of /dev/shm; 256 MiB */
} sandbox_limits_t;

/* Replaces each 0 by its value in `others`; if that is NULL, by the default. */
void sandbox_limits_resolve(sandbox_limits_t *self,
                            const sandbox_limits_t *others);

#endif
