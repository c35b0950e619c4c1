/* Control groups without a hierarchy: what is made, removed and forgotten is a
 * deed (deeds.h). A test that links this wraps their functions
 * (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_FAKE_GROUPS_H
#define HEARTH_TESTS_LIB_FAKE_GROUPS_H

#include "sandbox/cgroups/cgroup.h"
#include "tests/lib/deeds.h"

typedef struct {
    cgroup_mode_t mode;
    unsigned taken; /* number of the next names that are in use */
    int fault;      /* what making a group says: 0 or -EXXX */
} fake_groups_t;

extern fake_groups_t fake_groups;

/* Sets a machine with control groups, and forgets all deeds. */
void fake_groups_begin(void);

#endif
