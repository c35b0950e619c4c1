/* See fake_groups.h. */
#include "tests/lib/fake_groups.h"

#include <errno.h>

fake_groups_t fake_groups;

static char place; /* of the one group */

void fake_groups_begin(void)
{
    fake_groups = (fake_groups_t){.mode = CGROUP_V2};
    deeds_forget();
}

/* The linker replaces the real functions by these (--wrap). */
cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self);
int __wrap_cgroup_new(const cgroups_t *tree, const char *name,
                      const cgroup_limits_t *limits, cgroup_t **ret_cgroup,
                      fault_t *fault);
int __wrap_cgroup_remove(const cgroup_t *self, fault_t *fault);
void __wrap_cgroup_destroy(cgroup_t **self_p);

cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self)
{
    (void) self;
    return fake_groups.mode;
}

int __wrap_cgroup_new(const cgroups_t *tree, const char *name,
                      const cgroup_limits_t *limits, cgroup_t **ret_cgroup,
                      fault_t *fault)
{
    (void) tree;
    if (fake_groups.fault)
        return fault_set(fault, -fake_groups.fault, "no group");
    if (fake_groups.taken) {
        fake_groups.taken--;
        return fault_set(fault, EEXIST, "%s is there", name);
    }
    deeds_note("make %s of %d", name, (int) limits->processes);
    *ret_cgroup = (cgroup_t *) &place;
    return 0;
}

int __wrap_cgroup_remove(const cgroup_t *self, fault_t *fault)
{
    (void) fault;
    deeds_note(self ? "remove" : "remove nothing");
    return 0;
}

void __wrap_cgroup_destroy(cgroup_t **self_p)
{
    if (*self_p)
        deeds_note("forget");
    *self_p = NULL;
}
