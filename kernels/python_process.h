/* Starts a program of hearth's own in a profile's Python, as zygotes are
 * started: in a session (setsid(2)) and with an environment of its own, perhaps
 * as another user, and with one SOCK_SEQPACKET socket as its descriptor 3. */
#ifndef HEARTH_KERNELS_PYTHON_PROCESS_H
#define HEARTH_KERNELS_PYTHON_PROCESS_H

#include "base/fault.h"
#include "kernels/profile.h"

#include <stdint.h>
#include <sys/types.h>

/* The mapper's descriptor in a program that has a user of its own
 * (sandbox/users/mapper.c). */
#define PYTHON_PROCESS_MAPPER_FD 4

/* The user of zygotes without privileges. A process beside each zygote gives
 * its sessions their users: those of a range, or the zygote's own user if that
 * is not in the range (sandbox/users/mapper.c). */
typedef struct {
    uid_t uid;
    gid_t gid;
    uid_t first; /* of the range */
    uint64_t count;
} zygote_user_t;

/* The program to start. All members are borrowed. */
typedef struct {
    const profile_t *profile;   /* with the Python that runs it */
    const char *package_folder; /* which has the module, and hearth_kernel */
    const char *module;         /* its main() is called; "package.module" */
    const zygote_user_t *user;  /* the program's user; NULL: the caller's */
    char *const *environment;   /* all of it, NULL at its end */
} python_process_start_t;

/* Opens the socket: `ret_ours` does not block, `ret_theirs` is what the program
 * gets. The caller owns both. */
int python_process_pair(int *ret_ours, int *ret_theirs, fault_t *fault);
/* Starts the program, whose descriptor 3 becomes `theirs`, which stays the
 * caller's. It is the caller's child, to be reaped. */
int python_process_spawn(const python_process_start_t *start, int theirs,
                         pid_t *ret_pid, fault_t *fault);

#endif
