/* The processes of one session as /proc shows them from outside: used where no
 * control group counts. */
#ifndef HEARTH_KERNELS_PROC_TREE_H
#define HEARTH_KERNELS_PROC_TREE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    uint64_t memory; /* bytes: resident, and what lies in /tmp and /dev/shm */
    uint64_t processes; /* and threads */
    uint64_t cpu_us;    /* processor time of those alive and of those that they
                         * have waited for */
} proc_tree_t;

/* Adds up all processes below pid 1 of a sandbox, itself included. `exact`: a
 * page that several processes share counts by their number, which is costly;
 * else once for each. Values that cannot be read are not counted. */
void proc_tree_read(pid_t first, bool exact, proc_tree_t *ret_processes);

/* Sends SIGKILL to all processes below that pid 1. For a pid 1 that was killed
 * and does not get to its end, because processes below take all processors. */
void proc_tree_kill(pid_t first);

#endif
