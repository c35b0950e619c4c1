/* Steps of launch.c that pid 1 and payload take as processes: their signals,
 * session, descriptors, streams and working directory. */
#include "sandbox/launch/process.h"
#include "sandbox/policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEPT_MAX 6

/* Closes all descriptors from 3 on, except those in `kept`; -1 is skipped. */
int process_close_all_but(const int *kept, size_t count, fault_t *fault)
{
    unsigned from = 3;

    for (;;) {
        unsigned next = UINT_MAX;

        for (size_t i = 0; i < count; i++)
            if (kept[i] >= 0 && (unsigned) kept[i] >= from
                && (unsigned) kept[i] < next)
                next = (unsigned) kept[i];
        if (next > from
            && close_range(from, next == UINT_MAX ? next : next - 1, 0) < 0)
            return fault_errno(fault, "close_range");
        if (next == UINT_MAX)
            return 0;
        from = next + 1;
    }
}

int process_keep_own_descriptors(launch_entry_t *entry, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    const mounts_t *mounts = &entry->sandbox->mounts;
    int kept[KEPT_MAX + SOURCES_MAX + GROUPS_MAX] = {
        entry->go_fd,    launch->workspace_fd, launch->link_fd,
        launch->init_fd, launch->status_fd,    entry->sandbox->init_image_fd};

    for (size_t i = 0; i < SOURCES_MAX; i++)
        kept[KEPT_MAX + i] =
            i < mounts->source_count ? mounts->sources[i].fd : -1;
    for (size_t i = 0; i < GROUPS_MAX; i++)
        kept[KEPT_MAX + SOURCES_MAX + i] =
            i < launch->cgroup_count ? launch->cgroup_fds[i] : -1;
    return process_close_all_but(kept, KEPT_MAX + SOURCES_MAX + GROUPS_MAX,
                                 fault);
}

int process_use_null_device(launch_entry_t *entry, fault_t *fault)
{
    cleanup_fd int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void) entry;
    if (fd < 0)
        return fault_errno(fault, "/dev/null");
    for (int standard = 0; standard <= 2; standard++)
        if (dup2(fd, standard) < 0)
            return fault_errno(fault, "dup2");
    return 0;
}

/* Resets all signals: a handler of the caller's has no place in pid 1. An
 * ignored SIGCHLD would take the payload's status away. */
int process_forget_signals(launch_entry_t *entry, fault_t *fault)
{
    struct sigaction action;

    (void) fault;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < _NSIG; number++)
        if (entry->actions[number].sa_handler != SIG_DFL)
            sigaction(number, &action, NULL);
    return 0;
}

/* Begins a session for pid 1 and the payload. */
int process_begin_session(launch_entry_t *entry, fault_t *fault)
{
    (void) entry;
    umask(022);
    return setsid() < 0 ? fault_errno(fault, "setsid") : 0;
}

void process_save_signals(launch_entry_t *entry)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &entry->mask);
    for (int number = 1; number < _NSIG; number++)
        sigaction(number, NULL, &entry->actions[number]);
}

int process_prepare_payload(launch_entry_t *entry, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    const int kept[] = {launch->link_fd, launch->status_fd, entry->payload_fd,
                        entry->ruleset_fd};

    /* A group of its own for signals, in pid 1's session: as its leader it
     * would get the first terminal it opens for its own, and be hung up with
     * it. */
    if (setpgid(0, 0) < 0)
        return fault_errno(fault, "setpgid");
    if (prctl(PR_SET_NAME, "hearth-kernel", 0, 0, 0) < 0)
        return fault_errno(fault, "name");
    if (fcntl(launch->link_fd, F_SETFD, FD_CLOEXEC) < 0)
        return fault_errno(fault, "link");
    for (int number = 1; number < _NSIG; number++)
        if (entry->actions[number].sa_handler != SIG_DFL)
            sigaction(number, &entry->actions[number], NULL);
    if (!walls_has(entry->sandbox, WALL_DESCRIPTORS))
        return 0;
    return process_close_all_but(kept, sizeof kept / sizeof kept[0], fault);
}

/* Makes the payload dumpable, after every change of credentials, since those
 * make it undumpable: it may then read its own /proc, which belongs to it. */
int process_be_dumpable(launch_entry_t *entry, fault_t *fault)
{
    (void) entry;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? fault_errno(fault, "prctl")
                                                  : 0;
}

int process_enter_workspace(launch_entry_t *entry, fault_t *fault)
{
    (void) entry;
    return chdir(SANDBOX_WORKSPACE) < 0 ? fault_errno(fault, SANDBOX_WORKSPACE)
                                        : 0;
}
