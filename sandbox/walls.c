/* The walls by name: one table that documents, configuration and tests share.
 * A wall that can be left out is left out for one purpose: to show that a test
 * needs it, or that a machine which lacks it can do without, at its owner's
 * risk. Without the others there would be no sandbox to enter. */
#include "sandbox/internal.h"

#include <errno.h>
#include <string.h>

static const sandbox_wall_t walls[] = {
    [WALL_NETWORK] = {"network", "a network namespace, its loopback down",
                      true},
    [WALL_IPC] = {"ipc", "System V IPC and message queues of its own", true},
    [WALL_UTS] = {"uts", "a host name of its own", true},
    [WALL_CGROUP] = {"cgroup", "the host's control groups out of sight", true},
    [WALL_READONLY] = {"readonly", "what is shown of the host is read-only",
                       true},
    [WALL_PROC] = {"proc", "the machine's part of /proc covered", true},
    [WALL_NESTED] = {"nested", "no user namespaces inside, by their number",
                     true},
    [WALL_DESCRIPTORS] = {"descriptors", "no descriptor but the link", true},
    [WALL_LIMITS] = {"limits", "resource limits of each process", true},
    [WALL_CAPABILITIES] = {"capabilities", "none in any set, none to be had",
                           true},
    [WALL_LANDLOCK] = {"landlock", "file, socket and signal rules", true},
    [WALL_FILTER] = {"seccomp", "the list of system calls", true},
    [WALL_INIT] = {"init", "pid 1 not dumpable", true},
    [WALL_USER] = {"user", "a user namespace with one user", false},
    [WALL_MOUNT] = {"mount", "a private root, the old one detached", false},
    [WALL_PID] = {"pid", "a pid namespace; its end is everybody's", false},
    [WALL_NO_NEW_PRIVS] = {"no_new_privs", "no privilege by starting programs",
                           false},
};

const sandbox_wall_t *sandbox_wall(size_t index)
{
    return index < sizeof walls / sizeof walls[0] ? &walls[index] : NULL;
}

static int find(const char *name, unsigned *ret_bit, fault_t *fault)
{
    for (size_t i = 0; i < sizeof walls / sizeof walls[0]; i++) {
        if (strcmp(walls[i].name, name) != 0)
            continue;
        if (!walls[i].can_be_left_out)
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
