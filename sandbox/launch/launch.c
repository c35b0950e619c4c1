/* The launch of a sandbox. A launch is a clone into new namespaces, which takes
 * a table of steps, in order, as pid 1 of its own. It makes the payload by
 * fork(3) and starts the program of pid 1. A step that fails ends the launch:
 * there is no weaker sandbox.
 *
 * The clone shares the caller's memory, because the page tables of a warm
 * interpreter take milliseconds to copy and pid 1 needs none of it. Only the
 * payload is a copy. While the copy is made, another clone, the builder, makes
 * the mounts and the network; it shares the memory too. When it is ready, it
 * sends descriptors of the new namespaces to pid 1 and the payload, and ends.
 * Both enter them and take their own steps. Until both have taken all steps and
 * the builder has ended, no foreign code runs. The caller can have the payload
 * wait for pid 1 later, with sandbox_await_init.
 *
 * The caller waits until no other process shares its memory. Each of the three
 * has its own stack. The payload is forked on pid 1's stack and goes back to
 * the caller's with setcontext(3). That call is made for changing stacks, and
 * no frame between the two owns an object. Nothing here allocates. A write to
 * memory that is being copied waits for the end of the fork. So the builder
 * writes only to its own stack, which is not copied.
 *
 * A new wall is a new step. */
#include "sandbox/launch/launch.h"
#include "sandbox/launch/call.h"
#include "sandbox/launch/clone.h"
#include "sandbox/launch/landlock.h"
#include "sandbox/launch/launch_check.h"
#include "sandbox/launch/mounts.h"
#include "sandbox/launch/namespaces.h"
#include "sandbox/launch/privileges.h"
#include "sandbox/launch/proc_mount.h"
#include "sandbox/launch/process.h"
#include "sandbox/launch/rlimits.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/cpu_affinity.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define STACK_BYTES   (256 * 1024) /* a fork runs on it */
#define BUILDER_STACK (64 * 1024)

typedef struct {
    const char *name; /* "sandbox: <name>: …" in the fault */
    step_fn *run;
    int wall; /* the wall that this step makes; ALWAYS: no single one */
} launch_step_t;

#define ALWAYS (-1)

static step_fn load_filter;
static step_fn step_back;
static step_fn become_init;

/* Steps in the clone, before it makes the other two, which inherit the
 * results. */
static const launch_step_t steps[] = {
    {"signals", process_forget_signals, ALWAYS},
    {"descriptors", process_keep_own_descriptors, WALL_DESCRIPTORS},
    /* Before the steps that allocate memory, so that it is counted. */
    {"control group", namespaces_join_group, ALWAYS},
    {"session", process_begin_session, ALWAYS},
    {"no_new_privs", privileges_forbid_new, WALL_NO_NEW_PRIVS},
};

/* Steps in the builder, while the payload is born. */
static const launch_step_t builder_steps[] = {
    {"namespaces", namespaces_make, ALWAYS},
    /* Before there is a map the session's identity cannot be named, and
     * capabilities count for no file. */
    {"id map", namespaces_await_map, ALWAYS},
    {"own mounts", namespaces_make_own_mounts, ALWAYS},
    /* Still the caller's identity: it may reach files that the session's may
     * not. */
    {"sources", mounts_open_sources, ALWAYS},
    {"identity", namespaces_take_identity, ALWAYS},
    /* From here on pid 1's identity, with every capability in the new
     * namespaces. */
    {"root", mounts_make_root, ALWAYS},
    {"folders", mounts_make_folders, ALWAYS},
    {"tmp", mounts_make_tmp, ALWAYS},
    {"read-only places", mounts_attach_sources, ALWAYS},
    {"devices", mounts_make_devices, ALWAYS},
    {"proc", proc_mount_make, ALWAYS},
    {"user namespaces inside", proc_mount_forbid_user_namespaces, WALL_NESTED},
    {"workspace", mounts_attach_workspace, ALWAYS},
    {"enter root", mounts_enter_root, ALWAYS},
    {"covers of /proc", proc_mount_cover, WALL_PROC},
    {"loopback", namespaces_raise_loopback, ALWAYS},
    {"hostname", namespaces_set_hostname, WALL_UTS},
    {"landlock rules", landlock_describe, WALL_LANDLOCK},
    {"namespaces to enter", namespaces_open, ALWAYS},
    /* Entering the namespace of mounts leads to the top mount over its root. */
    {"old root", mounts_leave_old_root, ALWAYS},
    {"call", call_in, ALWAYS},
};

/* Steps in the clone, once the payload is born. */
static const launch_step_t init_steps[] = {
    {"call of pid 1", call_await_builder, ALWAYS},
    {"namespaces of pid 1", namespaces_enter, ALWAYS},
    {"standard streams of pid 1", process_use_null_device, ALWAYS},
    {"limits of pid 1", rlimits_apply, WALL_LIMITS},
    {"identity of pid 1", namespaces_take_identity, ALWAYS},
    {"capabilities of pid 1", privileges_keep_init, WALL_CAPABILITIES},
    {"processors of pid 1", step_back, ALWAYS},
    {"program of pid 1", become_init, ALWAYS},
};

/* Steps in the payload, beside those of pid 1; the filter is its last wall. */
static const launch_step_t payload_steps[] = {
    {"call", call_await, ALWAYS},
    {"namespaces to enter", namespaces_enter, ALWAYS},
    {"standard streams", process_use_null_device, ALWAYS},
    {"process", process_prepare_payload, ALWAYS},
    {"limits", rlimits_apply, WALL_LIMITS},
    {"identity", namespaces_take_payload_identity, ALWAYS},
    {"capabilities", privileges_drop, WALL_CAPABILITIES},
    {"dumpable", process_be_dumpable, ALWAYS},
    {"working directory", process_enter_workspace, ALWAYS},
    {"oom score", namespaces_offer_to_oom, ALWAYS},
    {"landlock", landlock_enter, WALL_LANDLOCK},
    {"filter", load_filter, WALL_FILTER},
};

/* The data that all three share. Each changes only its own part, because the
 * others see every change. */
typedef struct {
    launch_entry_t entry; /* of pid 1; the payload has its own copy */
    ucontext_t caller; /* the payload continues here, on the caller's stack */
    bool is_payload;   /* true only in the payload's copy */
    clone_t init;      /* pid 1 until it starts its program */
    clone_t builder;
    int processor; /* the processor of pid 1 at its fork; negative: unknown */
    int go_fd;     /* lets the builder go on; -1: closed */
    pid_t pid;     /* of pid 1 */
    int pidfd;     /* owned; -1 */
} launch_t;

static int load_filter(launch_entry_t *entry, fault_t *fault)
{
    return filter_load(&entry->sandbox->payload_filter, fault);
}

/* Ends a launch that failed; the fault is one write, so one record. */
static _Noreturn void give_up(int status_fd, const char *step, fault_t *fault)
{
    fault_wrap(fault, "sandbox: %s", step);
    _exit(write(status_fd, fault, sizeof *fault) < 0 ? EXIT_NOT_ENTERED + 1
                                                     : EXIT_NOT_ENTERED);
}

int sandbox_await_init(int init_fd, fault_t *fault)
{
    char hidden;
    ssize_t size = read(init_fd, &hidden, 1);

    close(init_fd);
    return size == 1 ? 0
                     : fault_set(fault, ECHILD,
                                 "sandbox: pid 1 could not take its steps");
}

/* Becomes pid 1's program, with its arguments and an empty environment. */
static int become_init(launch_entry_t *entry, fault_t *fault)
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
    if (process_close_all_but((int[]){launch->init_fd, launch->status_fd,
                                      entry->init_fd,
                                      entry->sandbox->init_image_fd},
                              4, fault)
        < 0)
        return -fault->code;
    for (size_t i = 0; i < 3; i++)
        if (fcntl(passed[i], F_SETFD, 0) < 0)
            return fault_errno(fault, "descriptors");
    fexecve(entry->sandbox->init_image_fd, argv, (char *[]){NULL});
    return fault_errno(fault, "exec");
}

/* Runs the steps of a table, except those of walls that are left out. A step
 * that fails ends the process. */
static void take_steps(launch_entry_t *entry, const launch_step_t *table,
                       size_t count)
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

static int step_back(launch_entry_t *entry, fault_t *fault)
{
    (void) fault;
    cpu_affinity_restore(&entry->processors);
    return 0;
}

/* Runs the builder on its own stack; does not return. */
static int run_builder(void *argument)
{
    const launch_t *self = argument;
    launch_entry_t entry = self->entry;

    /* Pid 1 will be busy on this processor, so the payload starts on another
     * one. */
    cpu_affinity_keep_off(self->processor, 0);
    TAKE(&entry, builder_steps);
    _exit(0);
}

/* Makes a pair of sockets for pid 1 and payload, and starts the builder. */
static int start_builder(launch_t *self, fault_t *fault)
{
    int pair[2];
    long pid;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return fault_errno(fault, "socketpair");
    self->entry.init_fd = pair[0];
    self->entry.payload_fd = pair[1];
    self->processor = cpu_affinity_find();
    pid = clone_start(&self->builder, 0, -1, run_builder, self, NULL);
    if (pid < 0)
        return fault_set(fault, (int) -pid, "clone: %s", strerror((int) -pid));
    self->entry.builder = (pid_t) pid;
    cpu_affinity_keep_off(self->processor, self->entry.builder);
    return 0;
}

/* Runs the clone on its own stack. In the payload it goes back to the caller's,
 * and otherwise it does not return. */
static int run_clone(void *argument)
{
    launch_t *self = argument;
    launch_entry_t *entry = &self->entry;
    fault_t fault = {0, ""};
    pid_t payload;

    TAKE(entry, steps);
    if (start_builder(self, &fault) < 0)
        give_up(entry->launch->status_fd, "builder", &fault);
    payload = fork();
    if (payload < 0) {
        fault_errno(&fault, "fork");
        give_up(entry->launch->status_fd, "payload", &fault);
    }
    if (payload == 0) {
        self->is_payload = true;
        setcontext(&self->caller);
        _exit(EXIT_NOT_ENTERED);
    }
    entry->payload = payload;
    close(entry->payload_fd);
    /* The payload goes on where it was made, and pid 1 beside it. */
    entry->processors = cpu_affinity_save();
    cpu_affinity_keep_off(self->processor, 0);
    TAKE(entry, init_steps);
    _exit(EXIT_NOT_ENTERED);
}

/* Takes the payload's steps, on the caller's stack. */
static void enter_payload(launch_entry_t *entry)
{
    bool waits = !entry->launch->awaits_later;
    fault_t fault;

    TAKE(entry, payload_steps);
    /* No foreign code runs before pid 1 has hidden itself and taken its steps.
     * A pid 1 that failed has reported why, or was killed. */
    if (write(entry->payload_fd, "", 1) != 1
        || (waits
            && sandbox_await_init(take_fd(&entry->payload_fd), &fault) < 0))
        _exit(EXIT_NOT_ENTERED);
    if (!entry->launch->keeps_status)
        close(entry->launch->status_fd);
}

static void launch_clear(launch_t *self)
{
    clone_clear(&self->init);
    clone_clear(&self->builder);
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

    if ((r = launch_check(self->entry.launch, self->entry.privileged, fault))
            < 0
        || (r = clone_make_stack(&self->init, STACK_BYTES, true, fault)) < 0
        || (r = clone_make_stack(&self->builder, BUILDER_STACK, false, fault))
               < 0)
        return r;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "sandbox: pipe: %s", strerror(errno));
    self->entry.go_fd = pipe_fds[0];
    self->go_fd = pipe_fds[1];
    /* A clone of a process that is not dumpable cannot be given id maps: its
     * files in /proc belong to root. The launch before this one has left the
     * process so. */
    if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0)
        return fault_set(fault, errno, "sandbox: dumpable: %s",
                         strerror(errno));
    return 0;
}

/* Does the caller's part while the clone takes its steps. A clone that cannot
 * be let go has not begun anything. */
static int run_caller(launch_t *self, fault_t *fault)
{
    sandbox_child_t child;
    int r = namespaces_clone(&self->entry, &self->init, run_clone, self, &child,
                             fault);

    if (r < 0)
        return r;
    self->pid = child.pid;
    self->pidfd = child.fd;
    r = namespaces_map(&self->entry, self->pid, fault);
    /* A payload that died meanwhile has reported why through the status
     * descriptor. */
    if (r == 0)
        (void) !write(self->go_fd, "", 1);
    else
        kill(self->pid, SIGKILL);
    /* In this order: once pid 1 has gone, it is known whether there is a
     * builder. */
    clone_await(&self->init);
    clone_await(&self->builder);
    /* Forks of this process may have its user, and must not inspect it. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (r < 0)
        while (waitpid(self->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return r;
}

/* Returns 1 in the payload, which comes from the clone's stack. */
static int run_launch(launch_t *self, fault_t *fault)
{
    if (getcontext(&self->caller) < 0)
        return fault_errno(fault, "sandbox: getcontext");
    return self->is_payload ? 1 : run_caller(self, fault);
}

int sandbox_fork(const sandbox_t *self, const sandbox_launch_t *launch,
                 sandbox_child_t *ret_child, fault_t *fault)
{
    launch_t on_way = {
        .entry = {.sandbox = self,
                  .launch = launch,
                  .limits = launch->limits ? *launch->limits : self->limits,
                  .privileged =
                      capability_gives_users() || launch->mapper_fd != 0,
                  .go_fd = -1,
                  .ruleset_fd = -1,
                  .root_fd = -1,
                  .init_fd = -1,
                  .payload_fd = -1},
        .processor = -1,
        .go_fd = -1,
        .pidfd = -1};
    int r;

    sandbox_limits_resolve(&on_way.entry.limits, &self->limits);
    if ((r = prepare(&on_way, fault)) < 0) {
        launch_clear(&on_way);
        return r;
    }
    process_save_signals(&on_way.entry);
    r = run_launch(&on_way, fault);
    if (r == 1) {
        enter_payload(&on_way.entry);
        clone_clear(&on_way.init);
        *ret_child = (sandbox_child_t){.fd = take_fd(&on_way.entry.payload_fd),
                                       .processor = on_way.processor};
    } else if (r == 0) {
        *ret_child = (sandbox_child_t){.pid = on_way.pid,
                                       .fd = take_fd(&on_way.pidfd),
                                       .processor = on_way.processor};
    }
    sigprocmask(SIG_SETMASK, &on_way.entry.mask, NULL);
    if (r != 1)
        launch_clear(&on_way);
    return r < 0 ? r : 0;
}
