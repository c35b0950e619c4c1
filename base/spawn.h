/* Starts a program that outlives the terminal and the signals of its parent. */
#ifndef HEARTH_BASE_SPAWN_H
#define HEARTH_BASE_SPAWN_H

#include <spawn.h>
#include <sys/types.h>

/* Starts `path` in a session of its own (setsid(2)), with no signal blocked and
 * each at its default. `actions` are borrowed. Returns 0, or -errno as
 * posix_spawn(3) reports it; *ret_pid is untouched then. */
int spawn_detached(const char *path, char *const argv[],
                   char *const environment[],
                   const posix_spawn_file_actions_t *actions, pid_t *ret_pid);

#endif
