/* The walls by name: one table that documents, configuration, doctor and tests
 * share. In the order of wall_t. */
#include "sandbox/walls.h"

static const sandbox_wall_t walls[] = {
    {"network", "a network namespace, its loopback down", true},
    {"ipc", "System V IPC and message queues of its own", true},
    {"uts", "a host name of its own", true},
    {"cgroup", "the host's control groups out of sight", true},
    {"readonly", "what is shown of the host is read-only", true},
    {"proc", "the machine's part of /proc covered", true},
    {"nested", "no user namespaces inside, by their number", true},
    {"descriptors", "no descriptor but the link", true},
    {"limits", "resource limits of each process", true},
    {"capabilities", "none in any set, none to be had", true},
    {"landlock", "file, socket and signal rules", true},
    {"seccomp", "the list of system calls", true},
    {"init", "pid 1 not dumpable", true},
    {"user", "a user namespace with one user", false},
    {"mount", "a private root, the old one detached", false},
    {"pid", "a pid namespace; its end is everybody's", false},
    {"no_new_privs", "no privilege by starting programs", false},
};

const sandbox_wall_t *sandbox_wall(size_t index)
{
    return index < sizeof walls / sizeof walls[0] ? &walls[index] : NULL;
}
