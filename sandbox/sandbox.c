/* The public face: a description (sandbox_t) and the one way in. A launch is a
 * clone into new namespaces, then a table of steps in the child, in order; the
 * child is then pid 1 and makes the payload by fork(2), which is given its
 * filter last of all. A step that fails ends the launch: there is no weaker
 * sandbox.
 *
 * A further wall is a further step. */
#include "sandbox/internal.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB              (1024ULL * 1024)
#define KEPT_MAX         5
#define GROUPS_MAX       8  /* files of a control group in one launch */
#define EXIT_NOT_ENTERED 70 /* sysexits' "internal software error" */

static const sandbox_limits_t default_limits = {
    .address_space = 0,
    .file_size = 1024 * MIB,
    .open_files = 1024,
    .processes = 512,
    .cpu_seconds = 0,
    .tmp_bytes = 256 * MIB,
};

typedef struct {
    const char *name; /* "sandbox: <name>: …" in the fault */
    step_fn *run;
    int wall; /* the wall that this step is; ALWAYS: it is part of several */
} step_t;

#define ALWAYS (-1)

static step_fn forget_signals;
static step_fn keep_own_descriptors;
static step_fn use_null_device;
static step_fn hide_process;
static step_fn load_filter;

/* In pid 1, before the payload is born. */
static const step_t steps[] = {
    {"signals", forget_signals, ALWAYS},
    {"descriptors", keep_own_descriptors, WALL_DESCRIPTORS},
    /* What the steps allocate counts already. */
    {"control group", namespaces_join_group, ALWAYS},
    /* With the caller's identity: it may reach what the session's may not. */
    {"sources", mounts_open_sources, ALWAYS},
    {"id map", namespaces_await_map, ALWAYS},
    {"identity", namespaces_take_identity, ALWAYS},
    /* With the session's, and every capability in the new namespaces. */
    {"root", mounts_make_root, ALWAYS},
    {"folders", mounts_make_folders, ALWAYS},
    {"devices", mounts_make_devices, ALWAYS},
    {"proc", mounts_make_proc, ALWAYS},
    {"user namespaces inside", mounts_forbid_user_namespaces, WALL_NESTED},
    {"covers of /proc", mounts_cover_proc, WALL_PROC},
    {"read-only places", mounts_attach_sources, ALWAYS},
    {"workspace", mounts_attach_workspace, ALWAYS},
    {"enter root", mounts_enter_root, ALWAYS},
    {"standard streams", use_null_device, ALWAYS},
    {"loopback", namespaces_raise_loopback, ALWAYS},
    {"hostname", namespaces_set_hostname, WALL_UTS},
    {"limits", rlimits_apply, WALL_LIMITS},
    {"no_new_privs", privileges_forbid_new, WALL_NO_NEW_PRIVS},
    {"capabilities", privileges_drop, WALL_CAPABILITIES},
    {"pid 1", hide_process, WALL_INIT},
};

/* In the payload, last of all. */
static const step_t payload_steps[] = {
    {"landlock", landlock_enter, WALL_LANDLOCK},
    {"filter", load_filter, WALL_FILTER},
};

/* What the caller had for signals: the payload gets it back. */
typedef struct {
    sigset_t mask;
    struct sigaction actions[_NSIG];
} signals_t;

int fault_errno(fault_t *fault, const char *what)
{
    int code = errno;

    return fault_set(fault, code, "%s: %s", what, strerror(code));
}

void sandbox_destroy(sandbox_t **self_p)
{
    sandbox_t *self = *self_p;

    if (self == NULL)
        return;
    filter_clear(&self->init_filter);
    filter_clear(&self->payload_filter);
    mounts_clear(&self->mounts);
    free(self);
    *self_p = NULL;
}

sandbox_t *sandbox_new(fault_t *fault)
{
    cleanup_sandbox sandbox_t *self = mem_new(sizeof *self);

    self->limits = default_limits;
    mounts_init(&self->mounts);
    if (filter_build_payload(&self->payload_filter, self->network, fault) < 0
        || filter_build_init(&self->init_filter, fault) < 0)
        return NULL;
    return take_ptr(self);
}

int sandbox_add_readonly(sandbox_t *self, const char *path, fault_t *fault)
{
    return mounts_add(&self->mounts, path, fault);
}

void sandbox_set_limits(sandbox_t *self, const sandbox_limits_t *limits)
{
    self->limits = *limits;
    rlimits_resolve(&self->limits, &default_limits);
}

int sandbox_set_network(sandbox_t *self, sandbox_network_t network,
                        fault_t *fault)
{
    filter_t filter = {NULL, 0};
    int r = filter_build_payload(&filter, network, fault);

    if (r < 0)
        return r;
    filter_clear(&self->payload_filter);
    self->payload_filter = filter;
    self->network = network;
    return 0;
}

/* Closes everything from 3 on, but those; -1 among them is skipped. */
static int close_all_but(const int *kept, size_t count, fault_t *fault)
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

static int keep_own_descriptors(entry_t *entry, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    const mounts_t *mounts = &entry->sandbox->mounts;
    int kept[KEPT_MAX + SOURCES_MAX + GROUPS_MAX] = {
        entry->go_fd, launch->workspace_fd, launch->link_fd, launch->init_fd,
        launch->status_fd};

    for (size_t i = 0; i < SOURCES_MAX; i++)
        kept[KEPT_MAX + i] =
            i < mounts->source_count ? mounts->sources[i].fd : -1;
    for (size_t i = 0; i < GROUPS_MAX; i++)
        kept[KEPT_MAX + SOURCES_MAX + i] =
            i < launch->cgroup_count ? launch->cgroup_fds[i] : -1;
    return close_all_but(kept, KEPT_MAX + SOURCES_MAX + GROUPS_MAX, fault);
}

static int use_null_device(entry_t *entry, fault_t *fault)
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

/* A handler of the caller's has no place in pid 1, and an ignored SIGCHLD
 * would take the payload's status away. */
static int forget_signals(entry_t *entry, fault_t *fault)
{
    struct sigaction action;

    (void) entry;
    (void) fault;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < _NSIG; number++)
        sigaction(number, &action, NULL); /* some numbers refuse: theirs */
    return 0;
}

/* Nobody inside may look into pid 1, which has the payload's user. */
static int hide_process(entry_t *entry, fault_t *fault)
{
    (void) entry;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return fault_errno(fault, "dumpable");
    if (prctl(PR_SET_NAME, "hearth-init", 0, 0, 0) < 0)
        return fault_errno(fault, "name");
    return 0;
}

static int load_filter(entry_t *entry, fault_t *fault)
{
    return filter_load(&entry->sandbox->payload_filter, fault);
}

static void save_signals(signals_t *signals)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &signals->mask);
    for (int number = 1; number < _NSIG; number++)
        sigaction(number, NULL, &signals->actions[number]);
}

/* The end of a launch that failed; the fault is one write, so one record. */
static _Noreturn void give_up(int status_fd, const char *step, fault_t *fault)
{
    fault_wrap(fault, "sandbox: %s", step);
    _exit(write(status_fd, fault, sizeof *fault) < 0 ? EXIT_NOT_ENTERED + 1
                                                     : EXIT_NOT_ENTERED);
}

/* Pid 1's first act: a payload that could not enter has said why. */
static void await_payload(int born_fd)
{
    char born;

    if (read(born_fd, &born, 1) != 1)
        _exit(EXIT_NOT_ENTERED);
}

static _Noreturn void become_init(const entry_t *entry, pid_t payload)
{
    const sandbox_launch_t *launch = entry->launch;
    fault_t fault = {0, ""};
    sigset_t child;
    int signal_fd;

    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    signal_fd = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0) {
        fault_errno(&fault, "signalfd");
        give_up(launch->status_fd, "pid 1", &fault);
    }
    if (close_all_but((int[]){launch->init_fd, launch->status_fd, signal_fd}, 3,
                      &fault)
            < 0
        || filter_load(&entry->sandbox->init_filter, &fault) < 0)
        give_up(launch->status_fd, "pid 1", &fault);
    close(launch->status_fd);
    init_run(signal_fd, launch->init_fd, payload, launch->orphan_seconds);
}

static int prepare_payload(const entry_t *entry, const signals_t *signals,
                           int born_fd, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;

    /* A group of its own for signals, in pid 1's session: as its leader it
     * would get the first terminal it opens for its own, and be hung up with
     * it. */
    if (setpgid(0, 0) < 0)
        return fault_errno(fault, "setpgid");
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0
        || prctl(PR_SET_NAME, "hearth-kernel", 0, 0, 0) < 0)
        return fault_errno(fault, "prctl");
    if (fcntl(launch->link_fd, F_SETFD, FD_CLOEXEC) < 0)
        return fault_errno(fault, "link");
    for (int number = 1; number < _NSIG; number++)
        sigaction(number, &signals->actions[number], NULL);
    return close_all_but((int[]){launch->link_fd, launch->status_fd, born_fd},
                         3, fault);
}

/* Runs one step, unless its wall is left out; a failure is the end. */
static void take_step(entry_t *entry, const step_t *step)
{
    fault_t fault = {0, ""};

    if (step->wall != ALWAYS && !walls_has(entry->sandbox, (wall_t) step->wall))
        return;
    if (step->run(entry, &fault) < 0)
        give_up(entry->launch->status_fd, step->name, &fault);
}

/* The child: returns in the payload alone. */
static void enter(entry_t *entry, const signals_t *signals)
{
    const sandbox_launch_t *launch = entry->launch;
    fault_t fault = {0, ""};
    int born_fds[2];
    pid_t payload;

    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++)
        take_step(entry, &steps[i]);
    if (pipe2(born_fds, O_CLOEXEC) < 0 || (payload = fork()) < 0) {
        fault_errno(&fault, "fork");
        give_up(launch->status_fd, "payload", &fault);
    }
    if (payload > 0) {
        close(born_fds[1]);
        await_payload(born_fds[0]);
        become_init(entry, payload);
    }
    if (prepare_payload(entry, signals, born_fds[1], &fault) < 0)
        give_up(launch->status_fd, "payload", &fault);
    for (size_t i = 0; i < sizeof payload_steps / sizeof payload_steps[0]; i++)
        take_step(entry, &payload_steps[i]);
    if (write(born_fds[1], "", 1) != 1) {
        fault_errno(&fault, "tell pid 1");
        give_up(launch->status_fd, "payload", &fault);
    }
    close(born_fds[1]);
    close(launch->status_fd);
}

static int check(const sandbox_launch_t *launch, bool privileged,
                 fault_t *fault)
{
    if (launch->workspace_fd < 3 || launch->link_fd < 3 || launch->init_fd < 3
        || launch->status_fd < 3)
        return fault_set(fault, EBADF,
                         "sandbox: a launch needs four descriptors above 2");
    if (launch->cgroup_count > GROUPS_MAX
        || (launch->is_cgroup_folder && launch->cgroup_count != 1))
        return fault_set(fault, EINVAL,
                         "sandbox: a control group has one folder, or at most "
                         "%d files",
                         GROUPS_MAX);
    if (privileged && (launch->host_uid == 0 || launch->host_gid == 0))
        return fault_set(fault, EPERM,
                         "sandbox: a kernel never runs as root: give it a user "
                         "and group of its own");
    if (!privileged
        && (launch->host_uid != geteuid() || launch->host_gid != getegid()))
        return fault_set(fault, EPERM,
                         "sandbox: only root can give a kernel another user "
                         "than its own");
    return 0;
}

/* Where the workspace is now: it may have been moved since it was opened. */
static int find_workspace(entry_t *entry, fault_t *fault)
{
    char link[64];
    ssize_t size;

    snprintf(link, sizeof link, "/proc/self/fd/%d",
             entry->launch->workspace_fd);
    size = readlink(link, entry->workspace, sizeof entry->workspace - 1);
    if (size < 0)
        return fault_set(fault, errno, "sandbox: the workspace: %s",
                         strerror(errno));
    entry->workspace[size] = '\0';
    return 0;
}

/* The caller's half, once the child is there. */
static int let_go(const entry_t *entry, pid_t pid, int go_fd, fault_t *fault)
{
    int r = namespaces_map(entry, pid, fault);

    /* A child that died meanwhile has told the status descriptor why. */
    if (r == 0)
        (void) !write(go_fd, "", 1);
    return r;
}

/* A child that cannot be let go has not begun anything. */
static void take_back(pid_t pid)
{
    kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

int sandbox_fork(const sandbox_t *self, const sandbox_launch_t *launch,
                 pid_t *ret_pid, int *ret_pidfd, fault_t *fault)
{
    entry_t entry = {.sandbox = self,
                     .launch = launch,
                     .limits = launch->limits ? *launch->limits : self->limits,
                     .privileged = geteuid() == 0,
                     .root_fd = -1};
    cleanup_fd int go_fd = -1;
    cleanup_fd int pidfd = -1;
    signals_t signals;
    int pipe_fds[2];
    pid_t pid = -1;
    int r;

    if ((r = check(launch, entry.privileged, fault)) < 0
        || (r = find_workspace(&entry, fault)) < 0)
        return r;
    rlimits_resolve(&entry.limits, &self->limits);
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "sandbox: pipe: %s", strerror(errno));
    entry.go_fd = pipe_fds[0];
    go_fd = pipe_fds[1];

    save_signals(&signals);
    r = namespaces_clone(&entry, &pid, &pidfd, fault);
    if (r == 0 && pid == 0) {
        go_fd = -1; /* closed with all that is not ours, by number */
        enter(&entry, &signals);
        sigprocmask(SIG_SETMASK, &signals.mask, NULL);
        *ret_pid = 0;
        *ret_pidfd = -1;
        return 0;
    }
    close(entry.go_fd);
    if (r == 0 && (r = let_go(&entry, pid, go_fd, fault)) < 0)
        take_back(pid);
    sigprocmask(SIG_SETMASK, &signals.mask, NULL);
    if (r < 0)
        return r;
    *ret_pid = pid;
    *ret_pidfd = take_fd(&pidfd);
    return 0;
}
