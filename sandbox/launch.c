/* The public face's second half: the way in. A launch is a clone into new
 * namespaces that runs a table of steps, in order, as pid 1 of its own; then
 * it makes the payload by fork(3) and starts the program of pid 1. A step that
 * fails ends the launch: there is no weaker sandbox.
 *
 * The clone shares the caller's memory, because a warm interpreter's page
 * tables cost milliseconds to copy and pid 1 wants none of it: only the
 * payload is a copy. Meanwhile the caller stands still, so at any time one of
 * the two runs; the clone has a stack of its own, and the payload, which is
 * forked on that stack, goes back to the caller's by longjmp. Nothing here
 * allocates between the clone and the end of the sharing.
 *
 * A further wall is a further step. */
#include "sandbox/internal.h"

#include "base/buffer.h"
#include "base/privilege.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT_MAX         6
#define GROUPS_MAX       8  /* files of a control group in one launch */
#define EXIT_NOT_ENTERED 70 /* sysexits' "internal software error" */
#define STACK_BYTES      (256 * 1024)
#define GUARD_BYTES      4096

typedef struct {
    const char *name; /* "sandbox: <name>: …" in the fault */
    step_fn *run;
    int wall; /* the wall that this step is; ALWAYS: it is part of several */
} step_t;

#define ALWAYS (-1)

static step_fn forget_signals;
static step_fn keep_own_descriptors;
static step_fn use_null_device;
static step_fn prepare_payload;
static step_fn be_dumpable;
static step_fn enter_workspace;
static step_fn await_init;
static step_fn load_filter;
static step_fn become_init;

/* In the clone, before the payload is born. */
static const step_t steps[] = {
    {"signals", forget_signals, ALWAYS},
    {"descriptors", keep_own_descriptors, WALL_DESCRIPTORS},
    /* What the steps allocate counts already. */
    {"control group", namespaces_join_group, ALWAYS},
    /* With the caller's identity: it may reach what the session's may not. */
    {"sources", mounts_open_sources, ALWAYS},
    {"id map", namespaces_await_map, ALWAYS},
    {"identity", namespaces_take_identity, ALWAYS},
    {"own mounts", mounts_enter_own, ALWAYS},
    /* With the session's, and every capability in the new namespaces. */
    {"root", mounts_make_root, ALWAYS},
    {"folders", mounts_make_folders, ALWAYS},
    {"tmp", mounts_make_tmp, ALWAYS},
    {"read-only places", mounts_attach_sources, ALWAYS},
    {"devices", mounts_make_devices, ALWAYS},
    {"proc", mounts_make_proc, ALWAYS},
    {"user namespaces inside", mounts_forbid_user_namespaces, WALL_NESTED},
    {"workspace", mounts_attach_workspace, ALWAYS},
    {"enter root", mounts_enter_root, ALWAYS},
    {"standard streams", use_null_device, ALWAYS},
    {"loopback", namespaces_raise_loopback, ALWAYS},
    {"hostname", namespaces_set_hostname, WALL_UTS},
    {"limits", rlimits_apply, WALL_LIMITS},
    {"no_new_privs", privileges_forbid_new, WALL_NO_NEW_PRIVS},
};

/* In the payload, which begins as pid 1 is; the filter is the last of its
 * walls. */
static const step_t payload_steps[] = {
    {"landlock rules", landlock_describe, WALL_LANDLOCK},
    {"covers of /proc", mounts_cover_proc, WALL_PROC},
    {"process", prepare_payload, ALWAYS},
    {"identity", namespaces_take_payload_identity, ALWAYS},
    {"capabilities", privileges_drop, WALL_CAPABILITIES},
    {"dumpable", be_dumpable, ALWAYS},
    {"working directory", enter_workspace, ALWAYS},
    {"oom score", namespaces_offer_to_oom, ALWAYS},
    {"landlock", landlock_enter, WALL_LANDLOCK},
    {"filter", load_filter, WALL_FILTER},
    /* Nothing runs that is not ours before pid 1 is out of reach, and has
     * taken its steps. */
    {"pid 1", await_init, ALWAYS},
};

/* In the clone, once the payload is born, beside its steps. */
static const step_t init_steps[] = {
    {"old root", mounts_leave_old_root, ALWAYS},
    {"capabilities of pid 1", privileges_keep_init, WALL_CAPABILITIES},
    {"program of pid 1", become_init, ALWAYS},
};

/* What caller, clone and payload have in common. Nobody changes a local
 * variable between the clone and its end: it would be the others' too. */
typedef struct {
    entry_t entry;
    jmp_buf payload; /* where the payload leaves the clone's stack */
    void *stack;     /* the clone's; NULL: none yet */
    int go_fd;       /* the caller lets the clone go on; -1: closed */
    pid_t pid;       /* of the clone */
    int pidfd;       /* owned; -1 */
} launch_t;

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
        entry->go_fd,    launch->workspace_fd, launch->link_fd,
        launch->init_fd, launch->status_fd,    entry->sandbox->init_image_fd};

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

    (void) fault;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    for (int number = 1; number < _NSIG; number++)
        if (entry->actions[number].sa_handler != SIG_DFL)
            sigaction(number, &action, NULL);
    return 0;
}

static int load_filter(entry_t *entry, fault_t *fault)
{
    return filter_load(&entry->sandbox->payload_filter, fault);
}

static void save_signals(entry_t *entry)
{
    sigset_t all;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &entry->mask);
    for (int number = 1; number < _NSIG; number++)
        sigaction(number, NULL, &entry->actions[number]);
}

/* The end of a launch that failed; the fault is one write, so one record. */
static _Noreturn void give_up(int status_fd, const char *step, fault_t *fault)
{
    fault_wrap(fault, "sandbox: %s", step);
    _exit(write(status_fd, fault, sizeof *fault) < 0 ? EXIT_NOT_ENTERED + 1
                                                     : EXIT_NOT_ENTERED);
}

static int prepare_payload(entry_t *entry, fault_t *fault)
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
    return close_all_but(kept, sizeof kept / sizeof kept[0], fault);
}

/* Behind every change of credentials, which takes it away: the payload may
 * look into itself, and its /proc belongs to it. */
static int be_dumpable(entry_t *entry, fault_t *fault)
{
    (void) entry;
    return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? fault_errno(fault, "prctl")
                                                  : 0;
}

static int enter_workspace(entry_t *entry, fault_t *fault)
{
    (void) entry;
    return chdir(SANDBOX_WORKSPACE) < 0 ? fault_errno(fault, SANDBOX_WORKSPACE)
                                        : 0;
}

static int await_init(entry_t *entry, fault_t *fault)
{
    char hidden;

    (void) fault;
    if (read(entry->payload_fd, &hidden, 1) != 1)
        _exit(EXIT_NOT_ENTERED); /* pid 1 has said why, or was killed */
    return 0;
}

/* With what it needs, and an environment of nothing. */
static int become_init(entry_t *entry, fault_t *fault)
{
    const sandbox_launch_t *launch = entry->launch;
    const int passed[] = {launch->init_fd, launch->status_fd, entry->init_fd};
    const int numbers[] = {launch->init_fd,
                           launch->status_fd,
                           entry->init_fd,
                           (int) entry->payload,
                           (int) launch->orphan_seconds,
                           walls_has(entry->sandbox, WALL_INIT)};
    char texts[6][12];
    char *argv[8] = {(char[]){"hearth-init"}};

    for (size_t i = 0; i < 6; i++) {
        snprintf(texts[i], sizeof texts[i], "%d", numbers[i]);
        argv[i + 1] = texts[i];
    }
    if (close_all_but((int[]){launch->init_fd, launch->status_fd,
                              entry->init_fd, entry->sandbox->init_image_fd},
                      4, fault)
        < 0)
        return -fault->code;
    for (size_t i = 0; i < 3; i++)
        if (fcntl(passed[i], F_SETFD, 0) < 0)
            return fault_errno(fault, "descriptors");
    fexecve(entry->sandbox->init_image_fd, argv, (char *[]){NULL});
    return fault_errno(fault, "exec");
}

/* Runs a table; leaves out the walls that are. A failure is the end. */
static void take_steps(entry_t *entry, const step_t *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        fault_t fault = {0, ""};

        if (table[i].wall != ALWAYS
            && !walls_has(entry->sandbox, (wall_t) table[i].wall))
            continue;
        if (table[i].run(entry, &fault) < 0)
            give_up(entry->launch->status_fd, table[i].name, &fault);
    }
}

#define TAKE(entry, table)                                                     \
    take_steps((entry), (table), sizeof(table) / sizeof((table)[0]))

/* The clone, on its own stack: in the payload it goes back to the caller's,
 * and otherwise it does not return. */
static int run_clone(void *argument)
{
    launch_t *self = argument;
    entry_t *entry = &self->entry;
    fault_t fault = {0, ""};
    int pair[2];
    pid_t payload;

    TAKE(entry, steps);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fault_errno(&fault, "socketpair");
        give_up(entry->launch->status_fd, "payload", &fault);
    }
    entry->init_fd = pair[0];
    entry->payload_fd = pair[1];
    payload = fork();
    if (payload < 0) {
        fault_errno(&fault, "fork");
        give_up(entry->launch->status_fd, "payload", &fault);
    }
    if (payload == 0)
        longjmp(self->payload, 1);
    entry->payload = payload;
    TAKE(entry, init_steps);
    _exit(EXIT_NOT_ENTERED);
}

/* The rest of the way, in the payload and on the caller's stack. */
static void enter_payload(entry_t *entry)
{
    fault_t fault = {0, ""};

    TAKE(entry, payload_steps);
    if (write(entry->payload_fd, "", 1) != 1) {
        fault_errno(&fault, "tell pid 1");
        give_up(entry->launch->status_fd, "payload", &fault);
    }
    close(entry->payload_fd);
    if (!entry->launch->keeps_status)
        close(entry->launch->status_fd);
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
    if (launch->mapper_fd != 0 && launch->mapper_fd < 3)
        return fault_set(fault, EBADF, "sandbox: no descriptor of a mapper");
    if (privileged && (launch->host_uid == 0 || launch->host_gid == 0))
        return fault_set(fault, EPERM,
                         "sandbox: a kernel never runs as root: give it a user "
                         "and group of its own");
    if (!privileged && launch->init_uid != 0)
        return fault_set(fault, EPERM,
                         "sandbox: only root, or who has CAP_SETUID and "
                         "CAP_SETGID, can give pid 1 a user of its own");
    if (!privileged
        && (launch->host_uid != geteuid() || launch->host_gid != getegid()))
        return fault_set(fault, EPERM,
                         "sandbox: only root, or who has CAP_SETUID and "
                         "CAP_SETGID, can give a kernel another user "
                         "than its own");
    return 0;
}

/* Where the workspace is now: it may have been moved since it was opened. And
 * whether a caller with a mapper finds it there. */
static int find_workspace(entry_t *entry, fault_t *fault)
{
    struct stat there, opened;
    char link[64];
    ssize_t size;

    snprintf(link, sizeof link, "/proc/self/fd/%d",
             entry->launch->workspace_fd);
    size = readlink(link, entry->workspace, sizeof entry->workspace - 1);
    if (size < 0)
        return fault_set(fault, errno, "sandbox: the workspace: %s",
                         strerror(errno));
    entry->workspace[size] = '\0';
    entry->enters_own =
        entry->launch->mapper_fd != 0
        && (stat(entry->workspace, &there) < 0
            || fstat(entry->launch->workspace_fd, &opened) < 0
            || there.st_dev != opened.st_dev || there.st_ino != opened.st_ino);
    return 0;
}

/* A stack with a page below it that nobody can touch. */
static int make_stack(launch_t *self, fault_t *fault)
{
    void *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    if (stack == MAP_FAILED)
        return fault_set(fault, errno, "sandbox: a stack: %s", strerror(errno));
    self->stack = stack;
    if (mprotect(stack, GUARD_BYTES, PROT_NONE) < 0)
        return fault_set(fault, errno, "sandbox: a stack: %s", strerror(errno));
    return 0;
}

static void launch_clear(launch_t *self)
{
    if (self->stack != NULL)
        munmap(self->stack, STACK_BYTES);
    if (self->entry.go_fd >= 0)
        close(self->entry.go_fd);
    if (self->go_fd >= 0)
        close(self->go_fd);
    if (self->pidfd >= 0)
        close(self->pidfd);
}

static int prepare(launch_t *self, fault_t *fault)
{
    int pipe_fds[2];
    int r;

    if ((r = check(self->entry.launch, self->entry.privileged, fault)) < 0
        || (r = find_workspace(&self->entry, fault)) < 0
        || (r = make_stack(self, fault)) < 0)
        return r;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "sandbox: pipe: %s", strerror(errno));
    self->entry.go_fd = pipe_fds[0];
    self->go_fd = pipe_fds[1];
    /* A clone's maps in /proc belong to root when the memory is hidden, which
     * the launch before this one has done. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return fault_set(fault, errno, "sandbox: dumpable: %s",
                         strerror(errno));
    return 0;
}

/* The caller's half, while the clone is on its way. A clone that cannot be let
 * go has not begun anything. */
static int run_caller(launch_t *self, fault_t *fault)
{
    int r = namespaces_clone(&self->entry, run_clone, self, self->stack,
                             STACK_BYTES, &self->pid, &self->pidfd, fault);

    if (r < 0)
        return r;
    r = namespaces_map(&self->entry, self->pid, fault);
    /* One that died meanwhile has told the status descriptor why. */
    if (r == 0)
        (void) !write(self->go_fd, "", 1);
    else
        kill(self->pid, SIGKILL);
    namespaces_await_memory();
    /* Not to be looked into by what it forks, whose user it may have. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (r < 0)
        while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return r;
}

/* 1 in the payload, which comes from the clone's stack. */
static int launch(launch_t *self, fault_t *fault)
{
    if (setjmp(self->payload) != 0)
        return 1;
    return run_caller(self, fault);
}

int sandbox_fork(const sandbox_t *self, const sandbox_launch_t *order,
                 pid_t *ret_pid, int *ret_pidfd, fault_t *fault)
{
    launch_t on_way = {
        .entry = {.sandbox = self,
                  .launch = order,
                  .limits = order->limits ? *order->limits : self->limits,
                  .privileged =
                      privilege_gives_users() || order->mapper_fd != 0,
                  .go_fd = -1,
                  .root_fd = -1,
                  .ruleset_fd = -1},
        .go_fd = -1,
        .pidfd = -1};
    int r;

    rlimits_resolve(&on_way.entry.limits, &self->limits);
    if ((r = prepare(&on_way, fault)) < 0) {
        launch_clear(&on_way);
        return r;
    }
    save_signals(&on_way.entry);
    r = launch(&on_way, fault);
    if (r == 1) {
        enter_payload(&on_way.entry);
        munmap(on_way.stack, STACK_BYTES);
        *ret_pid = 0;
        *ret_pidfd = -1;
    } else if (r == 0) {
        *ret_pid = on_way.pid;
        *ret_pidfd = take_fd(&on_way.pidfd);
    }
    sigprocmask(SIG_SETMASK, &on_way.entry.mask, NULL);
    if (r != 1)
        launch_clear(&on_way);
    return r < 0 ? r : 0;
}
