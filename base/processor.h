/* On which processor whom: hints for systems that keep a process on the one on
 * which it was made or woken while another one is idle. What cannot be had is
 * left as it is. */
#ifndef HEARTH_BASE_PROCESSOR_H
#define HEARTH_BASE_PROCESSOR_H

#include <sched.h>
#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    cpu_set_t set;
    bool is_known;
} processors_t;

/* The caller's at this moment; -1: unknown. */
int processor_find(void);
/* Takes it out of the set; false: nothing would be left, or nothing is known.
 */
bool processor_leave_out(int processor, cpu_set_t *set);
/* A thread (0: the caller) leaves it, if there is another one that it may use,
 * and does not come back. -1: no effect. */
void processor_keep_off(int processor, pid_t thread);

/* Those that the caller may use, and how it may use them again. */
processors_t processors_save(void);
void processors_restore(const processors_t *self);

#endif
