/* The process of a tool server: the command line, the environment and the
 * descriptors that it starts with, and how long its end is awaited. No process
 * is made. */
#include "gateway/registry/tools/tool_server_process.h"

#include "base/buffer.h"
#include "gateway/config/default_paths.h"
#include "tests/lib/deeds.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

#define SERVER_PID 4711

/* The machine, as the gateway sees it. */
static struct {
    int spawn_result;     /* 0 or -EXXX */
    bool has_no_pidfd;    /* the process cannot be watched */
    bool is_descriptor_0; /* that watches it */
    bool has_ca_file;
    int poll_result;
    int wait_errors[2]; /* of the calls of waitpid(2), one after the other */
    size_t waits;
} machine;

static char words[20000], variables[200];
static char description[100]; /* what the process finds at its descriptor 3 */

int __wrap_spawn_detached(const char *path, char *const argv[],
                          char *const environment[],
                          const posix_spawn_file_actions_t *actions,
                          pid_t *ret_pid);
int __real_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions,
                                            int fd, int copy);
int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions,
                                            int fd, int copy);
long __wrap_syscall(long number, pid_t pid, unsigned flags);
int __wrap_poll(struct pollfd *looks, nfds_t count, int timeout);
int __wrap_kill(pid_t pid, int signal);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

static void join(char *const list[], char *out, size_t size)
{
    out[0] = '\0';
    for (size_t i = 0; list[i]; i++) {
        size_t used = strlen(out);

        (void) snprintf(out + used, size - used, "%s%s", i ? " " : "", list[i]);
    }
}

int __wrap_spawn_detached(const char *path, char *const argv[],
                          char *const environment[],
                          const posix_spawn_file_actions_t *actions,
                          pid_t *ret_pid)
{
    assert_non_null(actions);
    deeds_note("spawn %s", path);
    join(argv, words, sizeof words);
    join(environment, variables, sizeof variables);
    if (machine.spawn_result == 0)
        *ret_pid = SERVER_PID;
    return machine.spawn_result;
}

int __wrap_posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions,
                                            int fd, int copy)
{
    if (copy == 3) {
        ssize_t size = pread(fd, description, sizeof description - 1, 0);

        assert_true(size >= 0 && fd != copy);
        description[size] = '\0';
    }
    return __real_posix_spawn_file_actions_adddup2(actions, fd, copy);
}

long __wrap_syscall(long number, pid_t pid, unsigned flags)
{
    assert_int_equal(number, SYS_pidfd_open);
    assert_int_equal(flags, 0);
    deeds_note("watch %d", (int) pid);
    if (machine.has_no_pidfd)
        return -1;
    return machine.is_descriptor_0 ? 0
                                   : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int __wrap_poll(struct pollfd *looks, nfds_t count, int timeout)
{
    assert_int_equal(count, 1);
    assert_int_equal(looks->events, POLLIN);
    deeds_note("await %d ms", timeout);
    return machine.poll_result;
}

int __wrap_kill(pid_t pid, int signal)
{
    deeds_note("kill %d %d", (int) pid, signal);
    return 0;
}

/* Call by call, so that one that is not made or made too often shows. */
pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    assert_null(status);
    assert_int_equal(options, 0);
    assert_true(machine.waits < 2);
    errno = machine.wait_errors[machine.waits++];
    deeds_note("reap %d", (int) pid);
    return errno ? -1 : pid;
}

static int begin(void **state)
{
    (void) state;
    memset(&machine, 0, sizeof machine);
    machine.poll_result = 1;
    description[0] = '\0';
    deeds_forget();
    return 0;
}

static char name[] = "github", word_1[] = "npx", word_2[] = "server";
static char variable_1[] = "TOKEN=x", variable_2[] = "HOME=/h";
static char *argv[] = {word_1, word_2, NULL};
static char *environment[] = {variable_1, variable_2, NULL};
static char *none[] = {NULL};
static const tool_server_t server = {
    .name = name, .argv = argv, .environment = environment};

static char profile_name[] = "python3", python[] = "/p/python";
static char runtime_dir[] = "/r", ca_file[] = "/ca.pem";

static int start(const tool_server_t *started, pid_t *ret_pid, fault_t *fault)
{
    const profile_t profile = {.name = profile_name, .python = python};
    options_t options = {.runtime_dir = runtime_dir};

    options.fetch.ca_file = machine.has_ca_file ? ca_file : NULL;
    return tool_server_process_start(started, &profile, &options, ret_pid,
                                     fault);
}

static void a_server_runs_under_the_gateways_own_program(void **state)
{
    pid_t pid = 0;
    fault_t fault = {0};

    (void) state;
    assert_int_equal(start(&server, &pid, &fault), 0);
    assert_string_equal(fault.text, "");
    DID("spawn /proc/self/exe");
    assert_int_equal(pid, SERVER_PID);
    assert_string_equal(words, "hearth tools serve python3 github -- npx "
                               "server");
    assert_string_equal(description, "");
}

/* Its keys are in the file that it gets, and in no word or variable. */
static void a_server_with_a_url_is_the_workers(void **state)
{
    static char keys[] = "{\"url\": \"https://x/?key=1\"}";
    tool_server_t remote = {
        .name = name, .description = keys, .environment = none};
    cleanup_free char *package = default_paths_python_dir();
    pid_t pid;
    fault_t fault;

    (void) state;
    assert_int_equal(start(&remote, &pid, &fault), 0);
    assert_string_equal(description, keys);
    assert_null(strstr(words, "key"));
    assert_null(strstr(variables, "key"));
    assert_non_null(strstr(words, "python3 github -- /p/python -I -c import "));
    assert_non_null(strstr(words, package));
    assert_null(strstr(words, ca_file));
    machine.has_ca_file = true;
    assert_int_equal(start(&remote, &pid, &fault), 0);
    assert_non_null(strstr(words, ca_file));
}

/* It is the server's alone: what the gateway has is not in it. */
static void its_environment_names_the_gateway(void **state)
{
    pid_t pid;
    fault_t fault;
    tool_server_t bare = server;

    (void) state;
    bare.environment = none;
    assert_int_equal(start(&server, &pid, &fault), 0);
    assert_string_equal(variables, "HEARTH_RUNTIME_DIR=/r "
                                   "HEARTH_CONFIG=/dev/null TOKEN=x HOME=/h");
    assert_int_equal(start(&bare, &pid, &fault), 0);
    assert_string_equal(variables,
                        "HEARTH_RUNTIME_DIR=/r HEARTH_CONFIG=/dev/null");
}

static void the_longest_command_line_fits(void **state)
{
    static char *all[TOOL_SERVER_WORDS_MAX + 1];
    tool_server_t longest = server;
    pid_t pid;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < TOOL_SERVER_WORDS_MAX; i++)
        all[i] = word_1;
    longest.argv = all;
    assert_int_equal(start(&longest, &pid, &fault), 0);
    assert_int_equal(strlen(words),
                     strlen("hearth tools serve python3 github "
                            "--")
                         + TOOL_SERVER_WORDS_MAX * strlen(" npx"));
}

static void a_program_that_cannot_be_started_says_why(void **state)
{
    pid_t pid = 5;
    fault_t fault;

    (void) state;
    machine.spawn_result = -ENOMEM;
    assert_int_equal(start(&server, &pid, &fault), -ENOMEM);
    assert_string_equal(fault.text, strerror(ENOMEM));
    assert_int_equal(pid, 5);
}

static void a_server_that_ends_is_reaped(void **state)
{
    (void) state;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; await 3000 ms; reap 4711");
}

static void a_server_that_does_not_end_is_killed(void **state)
{
    (void) state;
    machine.poll_result = 0;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; await 3000 ms; kill 4711 9; reap 4711");
    machine.poll_result = -1;
    machine.waits = 0;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; await 3000 ms; kill 4711 9; reap 4711");
}

static void a_server_that_cannot_be_watched_is_killed(void **state)
{
    (void) state;
    machine.has_no_pidfd = true;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; kill 4711 9; reap 4711");
}

static void descriptor_0_may_watch_a_server(void **state)
{
    int spare = dup(STDIN_FILENO);

    (void) state;
    machine.is_descriptor_0 = true;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; await 3000 ms; reap 4711");
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    if (spare >= 0) {
        assert_int_equal(dup2(spare, STDIN_FILENO), STDIN_FILENO);
        close(spare);
    }
}

static void descriptor_0_may_be_the_description(void **state)
{
    static char keys[] = "{\"url\": \"https://x/?key=1\"}";
    tool_server_t remote = {
        .name = name, .description = keys, .environment = none};
    int spare = dup(STDIN_FILENO), r;
    pid_t pid;
    fault_t fault;

    (void) state;
    close(STDIN_FILENO);
    r = start(&remote, &pid, &fault);
    if (spare >= 0) {
        assert_int_equal(dup2(spare, STDIN_FILENO), STDIN_FILENO);
        close(spare);
    }
    assert_int_equal(r, 0);
    assert_string_equal(description, keys);
}

static void a_signal_does_not_end_the_waiting(void **state)
{
    (void) state;
    machine.wait_errors[0] = EINTR;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; await 3000 ms; reap 4711; reap 4711");
}

static void a_process_that_was_reaped_is_not_awaited(void **state)
{
    (void) state;
    machine.wait_errors[0] = ECHILD;
    tool_server_process_await(SERVER_PID);
    DID("watch 4711; await 3000 ms; reap 4711");
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_server_runs_under_the_gateways_own_program),
        TEST(a_server_with_a_url_is_the_workers),
        TEST(its_environment_names_the_gateway),
        TEST(the_longest_command_line_fits),
        TEST(a_program_that_cannot_be_started_says_why),
        TEST(a_server_that_ends_is_reaped),
        TEST(a_server_that_does_not_end_is_killed),
        TEST(a_server_that_cannot_be_watched_is_killed),
        TEST(descriptor_0_may_watch_a_server),
        TEST(descriptor_0_may_be_the_description),
        TEST(a_signal_does_not_end_the_waiting),
        TEST(a_process_that_was_reaped_is_not_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
