/* See cpu_affinity.h. */
#include "base/cpu_affinity.h"

#include <sys/syscall.h>
#include <unistd.h>

/* Asks the system: sched_getcpu() reads what that writes to the caller's memory
 * (rseq(2)), which a clone may have from another process. */
int cpu_affinity_find(void)
{
    unsigned number = 0;

    return syscall(SYS_getcpu, &number, NULL, NULL) < 0 ? -1 : (int) number;
}

bool cpu_affinity_leave_out(int processor, cpu_set_t *set)
{
    if (processor < 0)
        return false;
    CPU_CLR((size_t) processor, set);
    return CPU_COUNT(set) > 0;
}

void cpu_affinity_keep_off(int processor, pid_t thread)
{
    cpu_set_t set;

    if (sched_getaffinity(thread, sizeof set, &set) == 0
        && cpu_affinity_leave_out(processor, &set))
        (void) sched_setaffinity(thread, sizeof set, &set);
}

cpu_affinity_t cpu_affinity_save(void)
{
    cpu_affinity_t self;

    self.is_known = sched_getaffinity(0, sizeof self.set, &self.set) == 0;
    return self;
}

void cpu_affinity_restore(const cpu_affinity_t *self)
{
    if (self->is_known)
        (void) sched_setaffinity(0, sizeof self->set, &self->set);
}
