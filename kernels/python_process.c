/* See python_process.h. By posix_spawn, which is safe whatever threads the
 * gateway has. */
#include "kernels/python_process.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define SOCKET_FD 3

int python_process_pair(int *ret_ours, int *ret_theirs, fault_t *fault)
{
    cleanup_fd int ours = -1, theirs = -1;
    int pair[2];
    int r;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return fault_set(fault, errno, "socketpair: %s", strerror(errno));
    ours = pair[0];
    /* Away from 3: dup2 of a descriptor onto itself would keep its
     * close-on-exec flag, and the program would find nothing there. */
    theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
    close(pair[1]);
    if (theirs < 0)
        return fault_set(fault, errno, "descriptors: %s", strerror(errno));
    if ((r = fd_set_nonblocking(ours, fault)) < 0)
        return r;
    *ret_ours = take_fd(&ours);
    *ret_theirs = take_fd(&theirs);
    return 0;
}

static int spawn(const python_process_start_t *start, int theirs,
                 char *const argv[], pid_t *ret_pid, fault_t *fault)
{
    posix_spawn_file_actions_t actions;
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, theirs, SOCKET_FD);
    r = spawn_detached(argv[0], argv, start->environment, &actions, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    if (r < 0)
        return fault_set(fault, -r,
                         "cannot start %s: %s; set `python` of "
                         "profile %s",
                         argv[0], strerror(-r), start->profile->name);
    return 0;
}

/* Starts the interpreter, or what becomes it as another user. */
int python_process_spawn(const python_process_start_t *start, int theirs,
                         pid_t *ret_pid, fault_t *fault)
{
    const char *folder = start->package_folder;
    const zygote_user_t *user = start->user;
    cleanup_free char *program =
        mem_format("import sys; sys.path.insert(0, '%s'); "
                   "from %s import main; main()",
                   folder, start->module);
    cleanup_free char *mapper =
        mem_format("%s/hearth_kernel/hearth-mapper", folder);
    cleanup_free char *uid = mem_format("%u", user ? user->uid : 0);
    cleanup_free char *gid = mem_format("%u", user ? user->gid : 0);
    cleanup_free char *first = mem_format("%u", user ? user->first : 0);
    cleanup_free char *count =
        mem_format("%" PRIu64, user ? user->count : UINT64_C(0));
    char *const argv[] = {mapper,
                          uid,
                          gid,
                          first,
                          count,
                          start->profile->python,
                          (char[]){"-I"},
                          (char[]){"-c"},
                          program,
                          NULL};

    if (strchr(folder, '\''))
        return fault_set(fault, EINVAL, "the folder %s has a quote in its name",
                         folder);
    return spawn(start, theirs, user ? argv : argv + 5, ret_pid, fault);
}
