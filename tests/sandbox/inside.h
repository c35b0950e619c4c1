/* Runs a function of a test inside the sandbox and hands its report back.
 *
 * A probe is the payload: it writes lines to `out` and returns. It neither
 * asserts nor knows of the test; what it says is compared outside. */
#ifndef HEARTH_TESTS_SANDBOX_INSIDE_H
#define HEARTH_TESTS_SANDBOX_INSIDE_H

#include "tests/lib/test.h"
#include "tests/sandbox/means.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "sandbox/launch/launch.h"
#include "sandbox/policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SESSION_UID    100000 /* of the host, when the test runs as root */
#define OTHER_UID      100007 /* likewise, of no session */
#define PATIENCE_MS    60000  /* for anything that must happen */
#define ORPHAN_SECONDS 60     /* a test that dies leaves nothing for long */

typedef void(probe_fn)(int out, void *argument);

/* One launch, seen from outside. */
typedef struct {
    char folder[64];    /* everything below it goes away with the test */
    char workspace[96]; /* the host's path of /workspace */
    char init_path[96]; /* pid 1's socket */
    int link;           /* the other end of the payload's link */
    pid_t pid;          /* pid 1, as the host counts */
    int pidfd;
    fault_t fault; /* of a step; code 0: entered */
} inside_t;

static inline bool inside_is_root(void)
{
    return geteuid() == 0;
}

static inline uid_t inside_uid(void)
{
    return inside_is_root() ? SESSION_UID : geteuid();
}

static inline uid_t inside_init_uid(void)
{
    return inside_is_root() ? SESSION_UID + 1 : 0;
}

static inline gid_t inside_gid(void)
{
    return inside_is_root() ? SESSION_UID : getegid();
}

/* Beside the tests that were built, two folders up. */
static inline const char *inside_init_program(void)
{
    static char path[4096];
    const char program[] = "/sandbox/init/hearth-init";
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 64);

    /* libtool's program lies one folder deeper than it says. */
    path[size < 0 ? 0 : size] = '\0';
    for (char *slash; (slash = strrchr(path, '/')) != NULL;) {
        memcpy(slash, program, sizeof program);
        if (access(path, X_OK) == 0)
            break;
        *slash = '\0';
    }
    return path;
}

/* Returns a description with the place that all of these tests need: the C
 * library. */
static inline sandbox_t *inside_describe(void)
{
    static const char *const places[] = {"/usr", "/bin", "/lib", "/lib64"};
    fault_t fault = {0, ""};
    sandbox_t *sandbox = sandbox_new(inside_init_program(), &fault);

    if (sandbox == NULL)
        fail_msg("%s", fault.text);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (sandbox_add_readonly(sandbox, places[i], &fault) < 0
            && fault.code != ENOENT)
            fail_msg("%s", fault.text);
    return sandbox;
}

static inline void inside_make_places(inside_t *self)
{
    *self = (inside_t){.folder = "/tmp/hearth-inside-XXXXXX",
                       .link = -1,
                       .pid = -1,
                       .pidfd = -1};
    assert_non_null(mkdtemp(self->folder));
    snprintf(self->workspace, sizeof self->workspace, "%s/workspace",
             self->folder);
    snprintf(self->init_path, sizeof self->init_path, "%s/init.sock",
             self->folder);
    assert_int_equal(mkdir(self->workspace, 0755), 0);
    if (inside_is_root())
        assert_int_equal(chown(self->workspace, SESSION_UID, SESSION_UID), 0);
}

/* The end of the status pipe: entered, or one fault. */
static inline void inside_read_status(inside_t *self, int status)
{
    struct pollfd watch = {status, POLLIN, 0};
    ssize_t got;

    assert_int_equal(poll(&watch, 1, PATIENCE_MS), 1);
    got = read(status, &self->fault, sizeof self->fault);
    assert_true(got == 0 || got == (ssize_t) sizeof self->fault);
}

/* What is started inside. */
typedef struct {
    probe_fn *probe;
    void *argument; /* the probe's; or NULL */
    const sandbox_limits_t *limits;
    unsigned orphan_seconds;
    int cgroup_fd;  /* the folder of its control group; -1: none */
    bool is_closed; /* the folder above the workspace, to caller and session */
} inside_wish_t;

/* Closes the folder above the workspace: another user's, or to its owner. Also
 * closes the workspace to all but its owner. Its group is not the session's,
 * so that no capability of root's counts for it in there. */
static inline void inside_close_folder(const inside_t *self)
{
    assert_int_equal(chmod(self->workspace, 0700), 0);
    if (inside_is_root()) {
        assert_int_equal(chown(self->workspace, SESSION_UID, OTHER_UID), 0);
        assert_int_equal(chown(self->folder, OTHER_UID, OTHER_UID), 0);
    }
    assert_int_equal(chmod(self->folder, inside_is_root() ? 0700 : 0), 0);
}

/* Forks; returns 0 and the launch, or what sandbox_fork answered. */
static inline int inside_start_as(inside_t *self, const sandbox_t *sandbox,
                                  const inside_wish_t *wish)
{
    cleanup_fd int workspace = -1;
    cleanup_fd int init = -1;
    cleanup_fd int link = -1;
    cleanup_fd int status = -1;
    cleanup_fd int status_in = -1;
    fault_t fault = {0, ""};
    int pair[2];
    int pipe_fds[2];
    sandbox_child_t child;
    int r;

    inside_make_places(self);
    workspace = open(self->workspace, O_PATH | O_CLOEXEC);
    assert_int_equal(fd_listen_unix(self->init_path, &init, &fault), 0);
    if (wish->is_closed)
        inside_close_folder(self);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair),
                     0);
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    self->link = pair[0];
    link = pair[1];
    status = pipe_fds[0];
    status_in = pipe_fds[1];

    r = sandbox_fork(
        sandbox,
        &(sandbox_launch_t){.workspace_fd = workspace,
                            .link_fd = link,
                            .init_fd = init,
                            .status_fd = status_in,
                            .host_uid = inside_uid(),
                            .host_gid = inside_gid(),
                            .init_uid = inside_init_uid(),
                            .init_gid = inside_init_uid(),
                            .limits = wish->limits,
                            .orphan_seconds = wish->orphan_seconds,
                            .cgroup_fds = &wish->cgroup_fd,
                            .cgroup_count = wish->cgroup_fd >= 0,
                            .is_cgroup_folder = wish->cgroup_fd >= 0,
                            .hostname = "inside"},
        &child, &self->fault);
    if (r == 0) {
        self->pid = child.pid;
        self->pidfd = child.fd;
    }
    if (r == 0 && self->pid == 0) {
        wish->probe(link, wish->argument);
        _exit(0);
    }
    if (r < 0)
        return r;
    close(take_fd(&status_in));
    inside_read_status(self, status);
    return 0;
}

/* Likewise, without a control group of its own. */
static inline int inside_start(inside_t *self, const sandbox_t *sandbox,
                               probe_fn *probe, void *argument,
                               const sandbox_limits_t *limits,
                               unsigned orphan_seconds)
{
    const inside_wish_t wish = {.probe = probe,
                                .argument = argument,
                                .limits = limits,
                                .orphan_seconds = orphan_seconds,
                                .cgroup_fd = -1};

    return inside_start_as(self, sandbox, &wish);
}

/* Reads the probe's report to its end. */
static inline void inside_report(inside_t *self, buffer_t *ret_report)
{
    struct pollfd watch = {self->link, POLLIN, 0};
    ssize_t got;

    do {
        assert_int_equal(poll(&watch, 1, PATIENCE_MS), 1);
        got = read(self->link, buffer_reserve(ret_report, 4096), 4096);
        if (got > 0)
            ret_report->size += (size_t) got;
    } while (got > 0);
    buffer_append(ret_report, "", 1);
}

/* Nothing is left: not pid 1, not a descriptor, not a file. */
static inline void inside_end(inside_t *self)
{
    fault_t fault = {0, ""};

    if (self->pid > 0) {
        kill(self->pid, SIGKILL);
        assert_int_equal(waitpid(self->pid, NULL, 0), self->pid);
    }
    if (self->pidfd >= 0)
        close(self->pidfd);
    if (self->link >= 0)
        close(self->link);
    assert_int_equal(chmod(self->folder, 0700), 0);
    assert_int_equal(path_remove_tree(self->folder, &fault), 0);
}

/* Runs the probe; its report must be `expected`. */
static inline void inside_expect_of(const sandbox_t *sandbox, probe_fn *probe,
                                    void *argument,
                                    const sandbox_limits_t *limits,
                                    const char *expected)
{
    cleanup_buffer buffer_t report = BUFFER_EMPTY;
    inside_t inside;

    if (inside_start(&inside, sandbox, probe, argument, limits, ORPHAN_SECONDS)
            < 0
        || inside.fault.code != 0)
        fail_msg("%s", inside.fault.text);
    inside_report(&inside, &report);
    assert_string_equal((const char *) report.data, expected);
    inside_end(&inside);
}

static inline void inside_expect(probe_fn *probe, void *argument,
                                 const sandbox_limits_t *limits,
                                 const char *expected)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();

    inside_expect_of(sandbox, probe, argument, limits, expected);
}

static inline void inside_say_nothing(int out, void *argument)
{
    (void) out;
    (void) argument;
}

/* Root in a user namespace of few users cannot give a session one of its
 * own. */
static inline bool inside_has_users(void)
{
    unsigned long count = 0;
    FILE *map = fopen("/proc/self/uid_map", "re");
    bool read = map != NULL && fscanf(map, "%*u %*u %lu", &count) == 1;

    if (map != NULL)
        fclose(map);
    return !inside_is_root() || (read && count > SESSION_UID);
}

/* Before the tests: the first launch, which all of them need. */
static inline bool inside_launches(void)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    inside_t inside;
    bool launched =
        inside_start(&inside, sandbox, inside_say_nothing, NULL, NULL, 1) == 0
        && inside.fault.code == 0;

    if (!launched)
        printf("Bail out! %s\n", inside.fault.text);
    inside_end(&inside);
    return launched;
}

/* For main. A machine that lacks something has the program skipped (77),
 * unless HEARTH_MUST_WORK is set; where nothing is missing a launch that fails
 * is a failure. */
static inline int inside_run(const char *name, const struct CMUnitTest *tests,
                             size_t count)
{
    const char *missing =
        inside_has_users() ? means_missing() : "other users for root";
    bool must_work = getenv("HEARTH_MUST_WORK") != NULL;

    if (missing != NULL) {
        printf("%s this machine lacks %s\n",
               must_work ? "Bail out!" : "1..0 # SKIP", missing);
        return must_work ? 99 : 77;
    }
    if (!inside_launches())
        return 99;
    return _cmocka_run_group_tests(name, tests, count, NULL, NULL);
}

#endif
