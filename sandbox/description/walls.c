/* Walls that a description does without. One is left out on purpose for one of
 * two reasons: to show that a test needs it, or that a machine without it
 * works, at its owner's risk. Without any of the others there would be no
 * sandbox to enter. */
#include "sandbox/policy/walls.h"
#include "sandbox/description/description.h"

#include <errno.h>
#include <string.h>

static int find(const char *name, unsigned *ret_bit, fault_t *fault)
{
    const sandbox_wall_t *wall;

    for (size_t i = 0; (wall = sandbox_wall(i)) != NULL; i++) {
        if (strcmp(wall->name, name) != 0)
            continue;
        if (!wall->can_be_left_out)
            return fault_set(fault, EINVAL,
                             "sandbox: without the wall \"%s\" there is no "
                             "sandbox",
                             name);
        *ret_bit = 1U << i;
        return 0;
    }
    return fault_set(fault, EINVAL,
                     "sandbox: there is no wall \"%s\"; hearth doctor lists "
                     "them",
                     name);
}

int sandbox_accept(sandbox_t *self, const char *wall, fault_t *fault)
{
    unsigned bit;
    int r = find(wall, &bit, fault);

    if (r == 0)
        self->accepted |= bit;
    return r;
}

int sandbox_leave_out(sandbox_t *self, const char *wall, fault_t *fault)
{
    unsigned bit;
    int r = find(wall, &bit, fault);

    if (r < 0)
        return r;
    if (!(self->accepted & bit))
        return fault_set(fault, EPERM,
                         "sandbox: to leave out the wall \"%s\" is not "
                         "accepted: name it in `accept` too",
                         wall);
    self->left_out |= bit;
    return 0;
}

bool walls_may_lack(const sandbox_t *self, wall_t wall)
{
    return self->accepted & 1U << wall;
}

bool walls_has(const sandbox_t *self, wall_t wall)
{
    return !(self->left_out & 1U << wall);
}
