/* The file rules, within a private root that has a hole: places that are shown
 * writable stay closed. Each wall is tested for what it stops, by leaving it
 * out. */
#include "tests/sandbox/inside.h"

#include "sandbox/policy/walls.h"

#include <dirent.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/un.h>

/* A line for everything that worked. */
static void try_all(int out, void *argument)
{
    static const char *const places[] = {"/usr/x", "/etc/x", "/x", "/run/x"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + 14;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void) argument;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (open(places[i], O_WRONLY | O_CREAT, 0644) < 0 && errno != EROFS)
            dprintf(out, "%s %s\n", places[i], strerror(errno));
    memcpy(address.sun_path, "\0hearth-outside", 14);
    if (connect(fd, (struct sockaddr *) &address, size) < 0)
        dprintf(out, "abstract socket %s\n", strerror(errno));
    if (kill(1, 0) < 0)
        dprintf(out, "signal %s\n", strerror(errno));
    if (mkdir("/tmp/a", 0755) < 0 || rename("/tmp/a", "/tmp/b") < 0
        || symlink("x", "/dev/shm/l") < 0 || unlink("/dev/shm/l") < 0)
        dprintf(out, "own places %s\n", strerror(errno));
    dprintf(out, "done\n");
}

static sandbox_t *describe_without(const char *first, const char *second)
{
    sandbox_t *sandbox = inside_describe();
    fault_t fault = {0, ""};
    const char *const names[] = {first, second};

    for (size_t i = 0; i < 2; i++)
        if (names[i] != NULL) {
            assert_int_equal(sandbox_accept(sandbox, names[i], &fault), 0);
            assert_int_equal(sandbox_leave_out(sandbox, names[i], &fault), 0);
        }
    return sandbox;
}

static int listen_abstract(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    socklen_t size = offsetof(struct sockaddr_un, sun_path) + 14;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(address.sun_path, "\0hearth-outside", 14);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, size), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

/* The host's network namespace is in reach, so that only the rules keep the
 * payload from its sockets. */
static void keeps_sockets_and_signals_out(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = describe_without("network", NULL);
    cleanup_sandbox sandbox_t *open = describe_without("network", "landlock");
    cleanup_fd int listener = listen_abstract();

    (void) state;
    (void) listener;
    if (sandbox_landlock_abi() < 6)
        skip();
    inside_expect_of(sandbox, try_all, NULL, NULL,
                     "abstract socket Operation not permitted\n"
                     "signal Operation not permitted\ndone\n");
    /* As root pid 1 has another user, which is a reason too. */
    inside_expect_of(open, try_all, NULL, NULL,
                     inside_is_root() ? "signal Operation not permitted\ndone\n"
                                      : "done\n");
}

static void write_to_source(int out, void *argument)
{
    int fd = open(argument, O_WRONLY | O_CREAT, 0666);

    dprintf(out, "%s\n", fd < 0 ? strerror(errno) : "written");
}

/* A place that everybody may write to, shown read-only. */
static void keeps_a_writable_mount_closed(void **state)
{
    cleanup_sandbox sandbox_t *closed = describe_without("readonly", NULL);
    cleanup_sandbox sandbox_t *open = describe_without("readonly", "landlock");
    cleanup_sandbox sandbox_t *mounted = describe_without("landlock", NULL);
    /* Not in /tmp: what lies in a writable place is writable by its rule. */
    cleanup_free char *here = getcwd(NULL, 0);
    cleanup_free char *folder = mem_format("%s/hearth-places-XXXXXX", here);
    cleanup_free char *file = NULL;
    fault_t fault = {0, ""};

    (void) state;
    /* Nor below /var, of which the sandbox has its own. */
    if (sandbox_landlock_abi() == 0 || strncmp(folder, "/tmp/", 5) == 0
        || strncmp(folder, "/var/", 5) == 0 || mkdtemp(folder) == NULL)
        skip();
    assert_int_equal(chmod(folder, 0777), 0);
    file = mem_format("%s/file", folder);
    assert_int_equal(sandbox_add_readonly(closed, folder, &fault), 0);
    assert_int_equal(sandbox_add_readonly(open, folder, &fault), 0);
    assert_int_equal(sandbox_add_readonly(mounted, folder, &fault), 0);
    inside_expect_of(closed, write_to_source, file, NULL,
                     "Permission denied\n");
    inside_expect_of(mounted, write_to_source, file, NULL,
                     "Read-only file system\n");
    inside_expect_of(open, write_to_source, file, NULL, "written\n");
    assert_int_equal(path_remove_tree(folder, &fault), 0);
}

static void *wait_for_the_end(void *end)
{
    char byte;

    return read(*(int *) end, &byte, 1) < 0 ? end : NULL;
}

/* Names itself, and opens what it could write if its comm could be: the files
 * of another thread. A line for each that it can open. */
static void open_files_of_a_thread(int out, void *argument)
{
    static const char *const files[] = {"comm", "mem", "oom_score_adj"};
    char name[16] = "";
    int end[2];
    pthread_t other;

    (void) argument;
    if (prctl(PR_SET_NAME, "itself") == 0 && prctl(PR_GET_NAME, name) == 0)
        dprintf(out, "%s\n", name);
    if (pipe(end) < 0
        || pthread_create(&other, NULL, wait_for_the_end, &end[0]) != 0)
        return;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        DIR *threads = opendir("/proc/self/task");
        struct dirent *thread;
        int opened = 0;

        while (threads != NULL && (thread = readdir(threads)) != NULL)
            if (thread->d_name[0] != '.') {
                cleanup_free char *path = mem_format("/proc/self/task/%s/%s",
                                                     thread->d_name, files[i]);
                int fd = open(path, O_WRONLY | O_TRUNC);

                opened += fd >= 0;
                close(fd);
            }
        closedir(threads);
        dprintf(out, "%s %s\n", files[i], opened == 2 ? "opened" : "closed");
    }
    close(end[1]);
    pthread_join(other, NULL);
}

/* The name of a thread is beside its memory, and the rule is for both. */
static void keeps_the_files_of_threads_closed(void **state)
{
    cleanup_sandbox sandbox_t *closed = inside_describe();
    cleanup_sandbox sandbox_t *open = describe_without("landlock", NULL);

    (void) state;
    if (sandbox_landlock_abi() == 0)
        skip();
    inside_expect_of(closed, open_files_of_a_thread, NULL, NULL,
                     "itself\ncomm closed\nmem closed\n"
                     "oom_score_adj closed\n");
    inside_expect_of(open, open_files_of_a_thread, NULL, NULL,
                     "itself\ncomm opened\nmem opened\n"
                     "oom_score_adj opened\n");
}

static void refuses_a_missing_wall_that_was_not_accepted(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(sandbox_leave_out(sandbox, "seccomp", &fault), -EPERM);
    assert_int_equal(sandbox_accept(sandbox, "pid", &fault), -EINVAL);
    assert_int_equal(sandbox_accept(sandbox, "moat", &fault), -EINVAL);
    assert_int_equal(sandbox_accept(sandbox, "seccomp", &fault), 0);
    assert_int_equal(sandbox_leave_out(sandbox, "seccomp", &fault), 0);
}

static void names_each_wall_once(void **state)
{
    (void) state;
    for (size_t i = 0; sandbox_wall(i) != NULL; i++) {
        assert_non_null(sandbox_wall(i)->name);
        assert_non_null(sandbox_wall(i)->is);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(sandbox_wall(i)->name,
                                    sandbox_wall(j)->name);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_a_writable_mount_closed),
        cmocka_unit_test(keeps_sockets_and_signals_out),
        cmocka_unit_test(keeps_the_files_of_threads_closed),
        cmocka_unit_test(refuses_a_missing_wall_that_was_not_accepted),
        cmocka_unit_test(names_each_wall_once),
    };

    return inside_run("landlock", tests, sizeof tests / sizeof tests[0]);
}
