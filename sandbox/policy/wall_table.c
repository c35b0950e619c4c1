/* The walls by name: one table that documents, configuration, doctor and tests
 * share. In the order of wall_t. */
#include "sandbox/policy/walls.h"

#include <sys/syscall.h>
#include <unistd.h>

#define QUERY_VERSION 1U /* of landlock_create_ruleset(2): which ABI */

static const sandbox_wall_t walls[] = {
    {"network", "a network namespace, its loopback down", true, false},
    {"ipc", "System V IPC and message queues of its own", true, false},
    {"uts", "a host name of its own", true, false},
    {"cgroup", "the host's control groups out of sight", true, false},
    {"readonly", "the places of the host are read-only", true, false},
    {"proc", "the machine's part of /proc covered", true, false},
    {"nested", "no user namespaces inside, by their number", true, false},
    {"descriptors", "no descriptor but the link", true, false},
    {"limits", "resource limits of each process", true, false},
    {"capabilities", "none in any set, and none can be gained", true, false},
    {"landlock", "file, socket and signal rules", true, true},
    {"seccomp", "the list of system calls", true, false},
    {"init", "pid 1 not dumpable", true, false},
    {"user", "a user namespace with one user", false, false},
    {"mount", "a private root, the old one detached", false, false},
    {"pid", "a pid namespace; its end is everybody's", false, false},
    {"no_new_privs", "no privilege by starting programs", false, false},
};

const sandbox_wall_t *sandbox_wall(size_t index)
{
    return index < sizeof walls / sizeof walls[0] ? &walls[index] : NULL;
}

int sandbox_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, QUERY_VERSION);

    return abi < 0 ? 0 : (int) abi;
}
