/* What can be seen and reached from inside: only what was described. */
#include "tests/sandbox/inside.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

/* A line for everything that should not have worked. */
static void must_fail(int out, const char *what, long result)
{
    if (result >= 0)
        dprintf(out, "%s worked\n", what);
}

static void use_workspace(int out, void *argument)
{
    char folder[64] = "";
    int fd = open("note", O_WRONLY | O_CREAT, 0644);

    (void) argument;
    dprintf(out, "%s %d %d\n", getcwd(folder, sizeof folder), (int) getuid(),
            (int) getpid());
    dprintf(fd, "written inside");
    close(fd);
}

/* The example: describe, fork, and see what the payload did. */
static void works_in_the_workspace(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    cleanup_buffer buffer_t report = BUFFER_EMPTY;
    cleanup_free char *path = NULL;
    struct stat seen;
    inside_t inside;

    (void) state;
    assert_int_equal(inside_start(&inside, sandbox, use_workspace, NULL, NULL,
                                  ORPHAN_SECONDS),
                     0);
    assert_int_equal(inside.fault.code, 0);
    inside_report(&inside, &report);
    assert_string_equal((char *) report.data, "/workspace 1000 3\n");
    path = mem_format("%s/note", inside.workspace);
    assert_int_equal(stat(path, &seen), 0);
    assert_int_equal(seen.st_uid, inside_uid());
    assert_int_equal(seen.st_size, strlen("written inside"));
    inside_end(&inside);
}

static void look_for_host(int out, void *argument)
{
    static const char *const gone[] = {
        "/boot",        "/home",       "/root",         "/opt",
        "/mnt",         "/etc/shadow", "/etc/hostname", "/etc/machine-id",
        "/sys/kernel",  "/sys/fs",     "/sys/class",    "/dev/tty",
        "/dev/kmsg",    "/dev/mem",    "/dev/fuse",     "/dev/kvm",
        "/dev/console", "/var/log",    "/run/systemd",  "/work",
        "/old_root",    "/tmp/hearth"};
    struct stat root;
    struct stat above;

    (void) argument;
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        must_fail(out, gone[i], access(gone[i], F_OK));
    if (stat("/", &root) < 0 || stat("/../..", &above) < 0
        || root.st_ino != above.st_ino || root.st_dev != above.st_dev)
        dprintf(out, "there is something above /\n");
    if (access("/usr/bin", R_OK) < 0 || access("/bin/sh", X_OK) < 0)
        dprintf(out, "/usr is missing\n");
    dprintf(out, "done\n");
}

static void sees_nothing_else_of_the_host(void **state)
{
    (void) state;
    inside_expect(look_for_host, NULL, NULL, "done\n");
}

static void write_everywhere(int out, void *argument)
{
    static const char *const places[] = {"/x",
                                         "/usr/x",
                                         "/bin/x",
                                         "/etc/x",
                                         "/dev/x",
                                         "/proc/x",
                                         "/sys/x",
                                         "/var/x",
                                         "/run/x",
                                         "/lib/x",
                                         "/usr/bin/sh",
                                         "/etc/passwd",
                                         "/proc/sys/kernel/hostname",
                                         "/proc/sys/user/max_user_namespaces",
                                         "/sys/devices/system/cpu/online"};
    static const char *const own[] = {"/tmp/x", "/dev/shm/x", "/workspace/x",
                                      "/var/tmp/y"};
    struct statvfs usr;

    (void) argument;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        must_fail(out, places[i], open(places[i], O_WRONLY | O_CREAT, 0644));
    must_fail(out, "chmod /etc", chmod("/etc", 0777));
    must_fail(out, "unlink /etc/passwd", unlink("/etc/passwd"));
    must_fail(out, "mount", mount("x", "/tmp", "tmpfs", 0, NULL));
    must_fail(out, "remount",
              mount(NULL, "/usr", NULL, MS_REMOUNT | MS_BIND, NULL));
    must_fail(out, "umount", umount2("/usr", MNT_DETACH));
    if (statvfs("/usr", &usr) < 0
        || (usr.f_flag & (ST_RDONLY | ST_NOSUID)) != (ST_RDONLY | ST_NOSUID))
        dprintf(out, "/usr is not read-only and nosuid\n");
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (open(own[i], O_WRONLY | O_CREAT, 0644) < 0)
            dprintf(out, "%s: %s\n", own[i], strerror(errno));
    dprintf(out, "done\n");
}

static void writes_only_to_its_own_places(void **state)
{
    (void) state;
    inside_expect(write_everywhere, NULL, NULL, "done\n");
}

static void list_processes(int out, void *argument)
{
    static const char *const secrets[] = {"/proc/1/environ",  "/proc/1/mem",
                                          "/proc/1/maps",     "/proc/1/fd/0",
                                          "/proc/1/root/etc", "/proc/1/cwd/."};
    DIR *folder = opendir("/proc");
    struct dirent *item;

    (void) argument;
    while ((item = readdir(folder)) != NULL)
        if (strspn(item->d_name, "0123456789") == strlen(item->d_name))
            dprintf(out, "%s ", item->d_name);
    closedir(folder);
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++)
        must_fail(out, secrets[i], open(secrets[i], O_RDONLY));
    must_fail(out, "ptrace of pid 1", syscall(SYS_ptrace, 16, 1, 0, 0));
    must_fail(out, "limits of pid 1",
              syscall(SYS_prlimit64, 1, 7, NULL, &(uint64_t[2]){0, 0}));
    kill(1, SIGKILL);
    kill(1, SIGTERM);
    kill(1, SIGSTOP);
    dprintf(out, "done\n");
}

static void sees_only_its_own_processes(void **state)
{
    (void) state;
    inside_expect(list_processes, NULL, NULL, "1 3 done\n");
}

static void list_descriptors(int out, void *argument)
{
    char path[64];
    char target[64];

    (void) argument;
    for (int fd = 0; fd < 256; fd++) {
        ssize_t size;

        if (fcntl(fd, F_GETFD) < 0 || fd == out)
            continue;
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        size = readlink(path, target, sizeof target);
        dprintf(out, "%d %.*s\n", fd, size < 0 ? 0 : (int) size, target);
    }
    dprintf(out, "link close-on-exec %d\n", fcntl(out, F_GETFD));
}

static void holds_nothing_but_the_link(void **state)
{
    (void) state;
    inside_expect(list_descriptors, NULL, NULL,
                  "0 /dev/null\n1 /dev/null\n2 /dev/null\n"
                  "link close-on-exec 1\n");
}

static void print_status(int out, void *argument)
{
    static const char *const names[] = {
        "CapInh:", "CapPrm:",     "CapEff:",  "CapBnd:",
        "CapAmb:", "NoNewPrivs:", "Seccomp:", "SigBlk:"};
    char line[256];
    FILE *file = fopen(argument, "re");

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            if (strncmp(line, names[i], strlen(names[i])) == 0)
                dprintf(out, "%s", line);
}

static void has_no_privilege(void **state)
{
    char path[] = "/proc/self/status";

    (void) state;
    inside_expect(print_status, path, NULL,
                  "SigBlk:\t0000000000000000\n"
                  "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
                  "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
                  "CapAmb:\t0000000000000000\n"
                  "NoNewPrivs:\t1\nSeccomp:\t2\n");
}

static void connect_around(int out, void *argument)
{
    int *port = argument;
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_port = htons((uint16_t) *port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    must_fail(out, "connect to the host's loopback",
              connect(fd, (struct sockaddr *) &address, sizeof address));
    fd = socket(AF_INET, SOCK_DGRAM, 0);
    inet_pton(AF_INET, "192.0.2.1", &address.sin_addr);
    must_fail(out, "connect outside",
              connect(fd, (struct sockaddr *) &address, sizeof address));
    fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *) &address, sizeof address) < 0
        || listen(fd, 1) < 0
        || connect(socket(AF_INET, SOCK_STREAM, 0),
                   (struct sockaddr *) &address, sizeof address)
               < 0)
        dprintf(out, "own loopback: %s\n", strerror(errno));
    dprintf(out, "done\n");
}

static void reaches_no_network_but_its_own(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    struct sockaddr_in address = {.sin_family = AF_INET};
    fault_t fault = {0, ""};
    socklen_t size = sizeof address;
    cleanup_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int port;

    (void) state;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *) &address, size), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *) &address, &size), 0);
    port = ntohs(address.sin_port);
    assert_int_equal(
        sandbox_set_network(sandbox, SANDBOX_NETWORK_LOOPBACK, &fault), 0);
    inside_expect_of(sandbox, connect_around, &port, NULL, "done\n");
}

static void look_up_link(int out, void *argument)
{
    char target[256];
    ssize_t size = readlink(argument, target, sizeof target);

    dprintf(out, "%.*s\n", size < 0 ? 0 : (int) size, target);
}

/* A folder that only its owner can walk, with a link to its neighbour. */
static void make_hidden_tree(const char *folder)
{
    cleanup_free char *deep = mem_format("%s/closed/deep", folder);
    cleanup_free char *link = mem_format("%s/closed/link", folder);
    cleanup_free char *closed = mem_format("%s/closed", folder);

    assert_int_equal(mkdir(closed, 0700), 0);
    assert_int_equal(mkdir(deep, 0755), 0);
    assert_int_equal(symlink("deep", link), 0);
}

static void shows_a_closed_folder_through_a_link(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    char folder[] = "/tmp/hearth-places-XXXXXX";
    cleanup_free char *link = NULL;
    fault_t fault = {0, ""};

    (void) state;
    assert_non_null(mkdtemp(folder));
    make_hidden_tree(folder);
    link = mem_format("%s/closed/link", folder);
    assert_int_equal(sandbox_add_readonly(sandbox, link, &fault), 0);
    inside_expect_of(sandbox, look_up_link, link, NULL, "deep\n");
    assert_int_equal(path_remove_tree(folder, &fault), 0);
}

static void refuses_a_place_that_was_exchanged(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    char folder[] = "/tmp/hearth-places-XXXXXX";
    cleanup_free char *place = NULL;
    cleanup_free char *away = NULL;
    fault_t fault = {0, ""};
    inside_t inside;

    (void) state;
    assert_non_null(mkdtemp(folder));
    place = mem_format("%s/place", folder);
    away = mem_format("%s/away", folder);
    assert_int_equal(mkdir(place, 0755), 0);
    assert_int_equal(sandbox_add_readonly(sandbox, place, &fault), 0);
    assert_int_equal(rename(place, away), 0);
    assert_int_equal(mkdir(place, 0755), 0);
    assert_int_equal(inside_start(&inside, sandbox, inside_say_nothing, NULL,
                                  NULL, ORPHAN_SECONDS),
                     0);
    assert_int_equal(inside.fault.code, ESTALE);
    assert_non_null(strstr(inside.fault.text, "sandbox: sources: "));
    inside_end(&inside);
    assert_int_equal(path_remove_tree(folder, &fault), 0);
}

static void refuses_places_of_its_own(void **state)
{
    static const char *const places[] = {
        "/",          "/dev", "/dev/null", "/etc",    "/proc",
        "/proc/self", "/sys", "/tmp",      "/usr/..", "/var/tmp"};
    cleanup_sandbox sandbox_t *sandbox = inside_describe();

    (void) state;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        fault_t fault = {0, ""};

        assert_int_equal(sandbox_add_readonly(sandbox, places[i], &fault),
                         -EINVAL);
    }
}

static void refuses_a_missing_place(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(sandbox_add_readonly(sandbox, "/usr/none/x", &fault),
                     -ENOENT);
    assert_int_equal(sandbox_add_readonly(sandbox, "/none/x", &fault), -ENOENT);
    assert_int_equal(sandbox_add_readonly(sandbox, "usr", &fault), -EINVAL);
}

static void refuses_root_as_the_session(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    sandbox_launch_t launch = {.workspace_fd = 3,
                               .link_fd = 4,
                               .init_fd = 5,
                               .status_fd = 6,
                               .host_uid = 0,
                               .host_gid = 0};
    fault_t fault = {0, ""};
    sandbox_child_t child;

    (void) state;
    assert_int_equal(sandbox_fork(sandbox, &launch, &child, &fault), -EPERM);
    assert_non_null(strstr(fault.text, "root"));
}

static void read_place(int out, void *argument)
{
    char text[16];
    cleanup_fd int fd = open(argument, O_RDONLY | O_CLOEXEC);
    cleanup_fd int made = open("made", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ssize_t size = read(fd, text, sizeof text);

    dprintf(out, "%.*s %d\n", (int) size, text, made >= 0);
}

/* The folder above the workspace is closed to caller and session, if the
 * caller's capabilities do not count. The workspace is closed to the caller,
 * and the folder of a source to the session. */
static void needs_no_path_to_the_workspace(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    cleanup_buffer buffer_t report = BUFFER_EMPTY;
    char folder[] = "/tmp/hearth-place-XXXXXX";
    cleanup_free char *place = NULL;
    fault_t fault = {0, ""};
    inside_t inside;

    (void) state;
    assert_non_null(mkdtemp(folder));
    place = mem_format("%s/place", folder);
    assert_int_equal(file_write_atomic(place, 0644, "shown", 5, &fault), 0);
    assert_int_equal(sandbox_add_readonly(sandbox, place, &fault), 0);
    const inside_wish_t wish = {.probe = read_place,
                                .argument = place,
                                .orphan_seconds = ORPHAN_SECONDS,
                                .cgroup_fd = -1,
                                .is_closed = true};
    if (inside_start_as(&inside, sandbox, &wish) < 0 || inside.fault.code != 0)
        fail_msg("%s", inside.fault.text);
    inside_report(&inside, &report);
    assert_string_equal((char *) report.data, "shown 1\n");
    inside_end(&inside);
    assert_int_equal(path_remove_tree(folder, &fault), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_in_the_workspace),
        cmocka_unit_test(needs_no_path_to_the_workspace),
        cmocka_unit_test(sees_nothing_else_of_the_host),
        cmocka_unit_test(writes_only_to_its_own_places),
        cmocka_unit_test(sees_only_its_own_processes),
        cmocka_unit_test(holds_nothing_but_the_link),
        cmocka_unit_test(has_no_privilege),
        cmocka_unit_test(reaches_no_network_but_its_own),
        cmocka_unit_test(shows_a_closed_folder_through_a_link),
        cmocka_unit_test(refuses_a_place_that_was_exchanged),
        cmocka_unit_test(refuses_places_of_its_own),
        cmocka_unit_test(refuses_a_missing_place),
        cmocka_unit_test(refuses_root_as_the_session),
    };

    return inside_run("escape", tests, sizeof tests / sizeof tests[0]);
}
