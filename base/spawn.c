/* See spawn.h. */
#include "base/spawn.h"

#include <signal.h>

int spawn_detached(const char *path, char *const argv[],
                   char *const environment[],
                   const posix_spawn_file_actions_t *actions, pid_t *ret_pid)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    pid_t pid;
    int code;

    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK
                                              | POSIX_SPAWN_SETSIGDEF
                                              | POSIX_SPAWN_SETSID);
    code = posix_spawn(&pid, path, actions, &attributes, argv, environment);
    posix_spawnattr_destroy(&attributes);
    if (code == 0)
        *ret_pid = pid;
    return -code;
}
