/* CPU affinity hints, for systems that keep a process on the processor on which
 * it was made or woken while another processor is idle. A hint that the system
 * refuses has no effect. */
#ifndef HEARTH_BASE_CPU_AFFINITY_H
#define HEARTH_BASE_CPU_AFFINITY_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    cpu_set_t set;
    bool is_known;
} cpu_affinity_t;

/* Returns the processor on which the caller runs, -1 if it is unknown. */
int cpu_affinity_find(void);
/* Removes a processor from the set. Returns false, and changes nothing, if the
 * processor is unknown or the set would become empty. */
bool cpu_affinity_leave_out(int processor, cpu_set_t *set);
/* Moves a thread (0: the caller) off a processor for good, if it may use
 * another one. No effect if the processor is -1. */
void cpu_affinity_keep_off(int processor, pid_t thread);

/* Returns the processors that the caller may use, for cpu_affinity_restore. */
cpu_affinity_t cpu_affinity_save(void);
/* Permits the caller those processors again. */
void cpu_affinity_restore(const cpu_affinity_t *self);

#endif
