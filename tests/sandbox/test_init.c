/* Pid 1 and its socket: docs/design/PROTOCOL.init.md from the gateway's side.
 */
#include "base/capability.h"
#include "tests/sandbox/inside.h"

#include <dirent.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define LINE_MAX_SIZE 96

/* One line, or what came before the other side hung up. */
static void read_line(int fd, char ret_line[LINE_MAX_SIZE])
{
    struct pollfd watch = {fd, POLLIN, 0};
    size_t size = 0;
    ssize_t got = 1;

    while (size < LINE_MAX_SIZE - 1 && got > 0
           && (size == 0 || ret_line[size - 1] != '\n')) {
        assert_int_equal(poll(&watch, 1, PATIENCE_MS), 1);
        got = read(fd, ret_line + size, 1);
        assert_true(got >= 0);
        size += (size_t) got;
    }
    ret_line[size] = '\0';
}

/* The next line begins with `start`; an empty one: hung up. */
static void expect_line(int fd, const char *start)
{
    char line[LINE_MAX_SIZE];

    read_line(fd, line);
    if (start[0] != '\0')
        line[strnlen(start, sizeof line - 1)] = '\0';
    assert_string_equal(line, start);
}

static int connect_to(const inside_t *inside)
{
    fault_t fault = {0, ""};
    int fd = -1;

    assert_int_equal(fd_connect_unix(inside->init_path, &fd, &fault), 0);
    return fd;
}

/* Pid 1 has gone by itself. */
static void expect_end(const inside_t *inside)
{
    struct pollfd watch = {inside->pidfd, POLLIN, 0};

    assert_int_equal(poll(&watch, 1, PATIENCE_MS), 1);
}

static void start(inside_t *inside, probe_fn *probe, unsigned orphan_seconds)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();

    if (inside_start(inside, sandbox, probe, NULL, NULL, orphan_seconds) < 0
        || inside->fault.code != 0)
        fail_msg("%s", inside->fault.text);
}

static void wait_for_signals(int out, void *argument)
{
    (void) argument;
    dprintf(out, "waiting\n");
    for (;;)
        pause();
}

/* The probe is there, and has set up what it wants. */
static void await_probe(const inside_t *inside)
{
    expect_line(inside->link, "waiting\n");
}

/* Starts a payload that waits, and connects to its pid 1; returns the socket.
 */
static int start_and_connect(inside_t *inside)
{
    start(inside, wait_for_signals, ORPHAN_SECONDS);
    await_probe(inside);
    return connect_to(inside);
}

static void exit_seven(int out, void *argument)
{
    (void) out;
    (void) argument;
    _exit(7);
}

static void passes_signals_on(void **state)
{
    static const struct {
        char command;
        const char *end;
    } rows[] = {{'I', "signal 2 "}, {'T', "signal 15 "}, {'K', "signal 9 "}};

    (void) state;
    /* Who is started in the background of a script ignores it, and so would
     * the payload. */
    signal(SIGINT, SIG_DFL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        inside_t inside;
        int gateway;

        gateway = start_and_connect(&inside);
        expect_line(gateway, "running 3\n");
        assert_int_equal(write(gateway, &rows[i].command, 1), 1);
        expect_line(gateway, rows[i].end);
        expect_end(&inside);
        close(gateway);
        inside_end(&inside);
    }
}

static void keeps_the_end_for_a_later_gateway(void **state)
{
    cleanup_buffer buffer_t report = BUFFER_EMPTY;
    char line[LINE_MAX_SIZE];
    inside_t inside;
    int gateway;

    (void) state;
    start(&inside, exit_seven, ORPHAN_SECONDS);
    inside_report(&inside, &report);
    gateway = connect_to(&inside);
    read_line(gateway, line);
    /* Pid 1 may hear of us before it hears of the end. */
    if (strcmp(line, "running 3\n") == 0)
        read_line(gateway, line);
    assert_memory_equal(line, "exit 7 ", strlen("exit 7 "));
    expect_end(&inside);
    close(gateway);
    inside_end(&inside);
}

static void ends_all_without_a_gateway(void **state)
{
    inside_t inside;

    (void) state;
    start(&inside, wait_for_signals, 1);
    await_probe(&inside);
    expect_end(&inside);
    inside_end(&inside);
}

/* Returns true if the system does not show in which call pid 1 waits: it is not
 * dumpable, so that a root without CAP_SYS_PTRACE may not look. */
static bool is_hidden(const inside_t *inside)
{
    cleanup_free char *path = mem_format("/proc/%d/syscall", (int) inside->pid);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char byte;

    return !capability_sees_users() && (fd < 0 || read(fd, &byte, 1) < 0)
           && (errno == EACCES || errno == EPERM);
}

static void skip_if_hidden(inside_t *inside)
{
    if (!is_hidden(inside))
        return;
    print_message("a look into pid 1 needs CAP_SYS_PTRACE here\n");
    inside_end(inside);
    skip();
}

/* Returns the address of the timeout of the ppoll in which pid 1 waits; 0: it
 * waits for ever. */
static unsigned long await_ppoll(const inside_t *inside)
{
    cleanup_free char *path = mem_format("/proc/%d/syscall", (int) inside->pid);
    unsigned long timeout = 0;
    char text[256];
    long number = -1;

    while (number != SYS_ppoll) { /* it runs, or waits elsewhere, until then */
        cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

        text[got > 0 ? got : 0] = '\0';
        assert_true(got > 0);
        if (sscanf(text, "%ld %*x %*x %lx", &number, &timeout) != 2)
            number = -1;
        sched_yield();
    }
    return timeout;
}

/* Returns for how many ms pid 1 waits for a gateway; 0: for ever. */
static int64_t read_patience(const inside_t *inside)
{
    unsigned long timeout = await_ppoll(inside);
    struct timespec left = {0};
    struct iovec mine = {&left, sizeof left};
    struct iovec theirs = {(void *) timeout, sizeof left};

    if (!timeout)
        return 0;
    assert_int_equal(process_vm_readv(inside->pid, &mine, 1, &theirs, 1, 0),
                     sizeof left);
    return left.tv_sec * 1000 + left.tv_nsec / 1000000;
}

/* The first gateway connects while the sandbox is made. */
static void waits_a_minute_at_most_for_the_first_gateway(void **state)
{
    static const unsigned orphan_seconds[] = {30, 3600, 0};
    static const int64_t most_ms[] = {30000, 60000, 60000};

    (void) state;
    if (geteuid() != 0)
        skip(); /* only root may look at where pid 1 waits */
    for (size_t i = 0; i < 3; i++) {
        inside_t inside;
        int64_t left;

        start(&inside, wait_for_signals, orphan_seconds[i]);
        await_probe(&inside);
        skip_if_hidden(&inside);
        left = read_patience(&inside);
        assert_true(left > 0 && left <= most_ms[i]);
        inside_end(&inside);
    }
}

static void waits_longer_for_the_next_gateway(void **state)
{
    inside_t inside;
    int64_t left;
    int gateway;

    (void) state;
    if (geteuid() != 0)
        skip(); /* only root may look at where pid 1 waits */
    start(&inside, wait_for_signals, 3600);
    await_probe(&inside);
    skip_if_hidden(&inside);
    gateway = connect_to(&inside);
    expect_line(gateway, "running 3\n");
    close(gateway);
    /* While it has a gateway it waits for ever. */
    while ((left = read_patience(&inside)) == 0)
        sched_yield();
    assert_true(left > 60000);
    inside_end(&inside);
}

/* K as well: who ends it does not want its report in any case. */
static void ends_what_has_no_owner_with_the_gateway(void **state)
{
    static const char *const commands[] = {"U", "K", "OU"};

    (void) state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        inside_t inside;
        int gateway;

        gateway = start_and_connect(&inside);
        assert_int_equal(write(gateway, commands[i], strlen(commands[i])),
                         strlen(commands[i]));
        close(gateway);
        expect_end(&inside);
        inside_end(&inside);
    }
}

static void keeps_what_has_an_owner(void **state)
{
    inside_t inside;
    int gateway;

    (void) state;
    gateway = start_and_connect(&inside);
    assert_int_equal(write(gateway, "UO", 2), 2);
    close(gateway);
    gateway = connect_to(&inside);
    expect_line(gateway, "running 3\n");
    close(gateway);
    inside_end(&inside);
}

static void takes_the_newer_gateway(void **state)
{
    inside_t inside;
    int older;
    int newer;

    (void) state;
    older = start_and_connect(&inside);
    expect_line(older, "running 3\n");
    newer = connect_to(&inside);
    expect_line(newer, "running 3\n");
    expect_line(older, ""); /* hung up */
    assert_int_equal(write(newer, "T", 1), 1);
    expect_line(newer, "signal 15 ");
    close(older);
    close(newer);
    inside_end(&inside);
}

static void drops_a_gateway_that_talks_nonsense(void **state)
{
    inside_t inside;
    int gateway;

    (void) state;
    gateway = start_and_connect(&inside);
    expect_line(gateway, "running 3\n");
    assert_int_equal(write(gateway, "?", 1), 1);
    expect_line(gateway, "");
    close(gateway);
    inside_end(&inside);
}

/* A grandchild in a session of its own holds the link open. */
static void leave_a_daemon(int out, void *argument)
{
    (void) argument;
    fcntl(out, F_SETFD, 0);
    if (fork() > 0)
        _exit(0);
    setsid();
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (;;)
        pause();
}

static void kills_processes_that_the_payload_left(void **state)
{
    cleanup_buffer buffer_t report = BUFFER_EMPTY;
    inside_t inside;

    (void) state;
    start(&inside, leave_a_daemon, ORPHAN_SECONDS);
    /* The link ends only when no process holds it. */
    inside_report(&inside, &report);
    inside_end(&inside);
}

static void leave_orphans(int out, void *argument)
{
    (void) argument;
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();

        if (child == 0) {
            if (fork() == 0)
                _exit(0);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    /* With a zombie left, the group of all processes is not just us. */
    for (int left = 1; left != 0;) {
        left = 0;
        for (int pid = 2; pid < 200; pid++)
            if (pid != getpid() && kill(pid, 0) == 0)
                left++;
        sched_yield();
    }
    dprintf(out, "done\n");
}

static void reaps_orphans(void **state)
{
    (void) state;
    inside_expect(leave_orphans, NULL, NULL, "done\n");
}

static int count_descriptors(pid_t pid)
{
    cleanup_free char *path = mem_format("/proc/%d/fd", (int) pid);
    DIR *folder = opendir(path);
    struct dirent *item;
    int count = 0;

    assert_non_null(folder);
    while ((item = readdir(folder)) != NULL)
        if (item->d_name[0] != '.')
            count++;
    closedir(folder);
    return count;
}

/* Tests properties of pid 1 that only the host sees. */
static void refuses_a_second_owner_of_its_socket(void **state)
{
    cleanup_free char *path = NULL;
    cleanup_buffer buffer_t status = BUFFER_EMPTY;
    fault_t fault = {0, ""};
    inside_t inside;

    (void) state;
    if (!inside_is_root()) {
        print_message("only root can look into pid 1\n");
        skip();
    }
    start(&inside, wait_for_signals, ORPHAN_SECONDS);
    await_probe(&inside);
    /* The standard three, its socket, and the one for signals. */
    assert_int_equal(count_descriptors(inside.pid), 5);
    path = mem_format("/proc/%d/status", (int) inside.pid);
    assert_int_equal(file_read(path, 65536, &status, &fault), 0);
    buffer_append(&status, "", 1);
    assert_non_null(strstr((char *) status.data, "Name:\thearth-init\n"));
    assert_non_null(strstr((char *) status.data, "Seccomp:\t2\n"));
    assert_non_null(strstr((char *) status.data, "NoNewPrivs:\t1\n"));
    assert_non_null(
        strstr((char *) status.data, "CapBnd:\t0000000000000000\n"));
    assert_non_null(
        strstr((char *) status.data, "Uid:\t100001\t100001\t100001\t100001\n"));
    /* To signal, and nothing else. */
    assert_non_null(
        strstr((char *) status.data, "CapEff:\t0000000000000020\n"));
    inside_end(&inside);
}

static void expect_content(pid_t pid, const char *file, const char *expected)
{
    cleanup_free char *path = mem_format("/proc/%d/%s", (int) pid, file);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault = {0, ""};

    assert_int_equal(file_read(path, 65536, &content, &fault), 0);
    buffer_append(&content, "", 1);
    assert_string_equal((char *) content.data, expected);
}

/* A program of its own: nothing of the zygote, of its environment, of its
 * path. */
static void shares_nothing_with_the_zygote(void **state)
{
    cleanup_free char *path = NULL;
    char program[64] = "";
    struct stat seen;
    inside_t inside;

    (void) state;
    if (!inside_is_root()) {
        print_message("only root can look into pid 1\n");
        skip();
    }
    setenv("HEARTH_SECRET", "of the caller", 1);
    start(&inside, wait_for_signals, ORPHAN_SECONDS);
    await_probe(&inside);
    expect_content(inside.pid, "environ", "");
    path = mem_format("/proc/%d/exe", (int) inside.pid);
    assert_true(readlink(path, program, sizeof program - 1) > 0);
    assert_string_equal(program, "/memfd:hearth-init (deleted)");
    /* Not dumpable: its files in /proc belong to root. */
    assert_int_equal(stat(path, &seen), 0);
    assert_int_equal(seen.st_uid, 0);
    inside_end(&inside);
    /* And neither is who has launched it. */
    assert_int_equal(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), 0);
}

/* Version 2, whose hierarchy can be mounted wherever the kernel has it. */
static void is_born_in_a_control_group(void **state)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    char folder[] = "/tmp/hearth-group-XXXXXX";
    cleanup_free char *group = NULL;
    cleanup_free char *path = NULL;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_fd int fd = -1;
    fault_t fault = {0, ""};
    inside_t inside;

    (void) state;
    assert_non_null(mkdtemp(folder));
    group = mem_format("%s/hearth-test-%d", folder, (int) getpid());
    path = mem_format("%s/cgroup.procs", group);
    if (mount("cgroup2", folder, "cgroup2", 0, NULL) < 0
        || mkdir(group, 0755) < 0) {
        umount2(folder, MNT_DETACH);
        rmdir(folder);
        print_message("no control group of version 2 is available\n");
        skip();
    }
    fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const inside_wish_t wish = {.probe = wait_for_signals,
                                .orphan_seconds = ORPHAN_SECONDS,
                                .cgroup_fd = fd};
    assert_int_equal(inside_start_as(&inside, sandbox, &wish), 0);
    assert_int_equal(inside.fault.code, 0);
    await_probe(&inside);
    assert_int_equal(file_read(path, 65536, &content, &fault), 0);
    buffer_append(&content, "", 1);
    assert_int_equal(strtol((char *) content.data, NULL, 10), inside.pid);
    assert_non_null(strchr((char *) content.data, '\n'));
    inside_end(&inside);
    assert_int_equal(rmdir(group), 0);
    assert_int_equal(umount2(folder, MNT_DETACH), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void says_that_pid_1_cannot_be_copied(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    assert_null(sandbox_new("/none/hearth-init", &fault));
    assert_int_equal(fault.code, ENOENT);
    assert_non_null(strstr(fault.text, "/none/hearth-init"));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_signals_on),
        cmocka_unit_test(keeps_the_end_for_a_later_gateway),
        cmocka_unit_test(ends_all_without_a_gateway),
        cmocka_unit_test(waits_a_minute_at_most_for_the_first_gateway),
        cmocka_unit_test(waits_longer_for_the_next_gateway),
        cmocka_unit_test(ends_what_has_no_owner_with_the_gateway),
        cmocka_unit_test(keeps_what_has_an_owner),
        cmocka_unit_test(takes_the_newer_gateway),
        cmocka_unit_test(drops_a_gateway_that_talks_nonsense),
        cmocka_unit_test(kills_processes_that_the_payload_left),
        cmocka_unit_test(reaps_orphans),
        cmocka_unit_test(refuses_a_second_owner_of_its_socket),
        cmocka_unit_test(shares_nothing_with_the_zygote),
        cmocka_unit_test(is_born_in_a_control_group),
        cmocka_unit_test(says_that_pid_1_cannot_be_copied),
    };

    return inside_run("init", tests, sizeof tests / sizeof tests[0]);
}
