/* A packages worker: its job, its one answer and its end, whatever it does. The
 * profile's Python is a shell script that the test has written. */
#include "gateway/registry/downloads/download_process.h"

#include "base/fd.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/packages_answer.h"
#include "tests/lib/deeds.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DID(text)   assert_string_equal(deeds_take(), text)
#define READ_JOB    "dd bs=65536 count=1 <&3 2>/dev/null >\"${0%/*}/job\"; "
#define SAY(json)   "printf %s '" json "' >&3; "
#define UNTIL_EOF   "exec cat <&3 >/dev/null"
#define PATIENCE_MS 60000

static zloop_t *loop;
static download_process_t *process;
static profile_t profile;
static char name[] = "python3";
static int64_t limit_ms;
static const download_kind_t *kind;
static bool is_over;
static bool closes_stdin;   /* once the process is there */
static bool is_interrupted; /* the first wait for its end */
static int progresses;      /* how often the worker has said how far it is */

int __real_python_process_spawn(const python_process_start_t *start, int theirs,
                                pid_t *ret_pid, fault_t *fault);
int __wrap_python_process_spawn(const python_process_start_t *start, int theirs,
                                pid_t *ret_pid, fault_t *fault);
pid_t __real_waitpid(pid_t pid, int *status, int options);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

int __wrap_python_process_spawn(const python_process_start_t *start, int theirs,
                                pid_t *ret_pid, fault_t *fault)
{
    int r = __real_python_process_spawn(start, theirs, ret_pid, fault);

    if (closes_stdin)
        close(STDIN_FILENO);
    return r;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    if (!is_interrupted)
        return __real_waitpid(pid, status, options);
    is_interrupted = false;
    errno = EINTR;
    return -1;
}

static void on_progressed(void *arg)
{
    assert_ptr_equal(arg, &process);
    progresses++;
}

static void on_answered(void *arg, json_t *reply)
{
    const char *ename = json_string_value(json_object_get(reply, "ename"));
    const char *evalue = json_string_value(json_object_get(reply, "evalue"));

    assert_ptr_equal(arg, &process);
    deeds_note("%s: %s", ename ? ename : "ok", evalue ? evalue : "");
    json_decref(reply);
}

static void on_ended(void *arg)
{
    assert_ptr_equal(arg, &process);
    deeds_note("ended");
    download_process_destroy(&process);
    is_over = true;
}

static const download_process_ops_t ops = {
    .progressed = on_progressed, .answered = on_answered, .ended = on_ended};

static int begin(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    loop = zloop_new();
    zloop_set_nonstop(loop, true);
    limit_ms = 600000;
    profile = (profile_t){.name = name, .python = inside("python")};
    kind = &packages_kind;
    is_over = closes_stdin = is_interrupted = false;
    progresses = 0;
    deeds_forget();
    return 0;
}

static int end(void **state)
{
    download_process_destroy(&process);
    zloop_destroy(&loop);
    free(profile.python);
    return remove_folder(state);
}

static int start_with(const json_t *job, fault_t *fault)
{
    const download_process_start_t start = {.loop = loop,
                                            .kind = kind,
                                            .profile = &profile,
                                            .package_folder = "/packages",
                                            .limit_ms = limit_ms,
                                            .ops = &ops,
                                            .arg = &process};

    return download_process_new(&start, job, &process, fault);
}

static void start(const char *script)
{
    cleanup_free char *text = mem_format("#!/bin/sh\n%s\n", script);
    json_auto_t *job = json_pack("{s:s}", "order", "list");
    fault_t fault = {0};

    if (file_replace(profile.python, 0755, text, strlen(text), &fault) < 0
        || start_with(job, &fault) < 0)
        fail_msg("%s", fault.text);
}

static bool has_pid(void)
{
    cleanup_free char *path = inside("pid");

    return access(path, R_OK) == 0;
}

static bool has_ended(void)
{
    return is_over;
}

static int look(zloop_t *self, int timer, void *arg)
{
    bool (*is_done)(void) = *(bool (**)(void)) arg;

    (void) self;
    (void) timer;
    return is_done() ? -1 : 0;
}

static int on_patience_over(zloop_t *self, int timer, void *arg)
{
    (void) self;
    (void) timer;
    (void) arg;
    return -1;
}

/* Runs the loop until it is so. */
static void run_until(bool (*is_done)(void))
{
    int timer = zloop_timer(loop, 5, 0, look, &is_done);
    int patience = zloop_timer(loop, PATIENCE_MS, 1, on_patience_over, NULL);

    zloop_start(loop);
    zloop_timer_end(loop, timer);
    zloop_timer_end(loop, patience);
    assert_true(is_done());
}

static void run(void)
{
    run_until(has_ended);
}

static void run_script(const char *script)
{
    start(script);
    run();
}

static char *read_file(const char *file)
{
    cleanup_free char *path = inside(file);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    assert_int_equal(file_read(path, 65536, &content, &fault), 0);
    return mem_text(content.size ? (const char *) content.data : "");
}

/* As an example of use. */
static void a_job_and_its_answer(void **state)
{
    cleanup_free char *job = NULL;
    size_t files = open_files();

    (void) state;
    run_script(READ_JOB SAY("{\"progress\":\"so\"}") SAY("{\"ok\":{}}"));
    DID("ok: ; ended");
    assert_int_equal(progresses, 1);
    job = read_file("job");
    assert_string_equal(job, "{\"order\":\"list\"}");
    assert_int_equal(open_files(), files);
}

/* A worker that has answered is not read any more. */
static void the_first_answer_counts(void **state)
{
    (void) state;
    run_script(READ_JOB SAY("{\"fault\":\"no\"}") SAY("{\"ok\":{}}"));
    DID("PackagesFailed: no; ended");
}

/* It is asked to end by the end of its socket. */
static void one_that_has_answered_ends(void **state)
{
    (void) state;
    run_script(READ_JOB SAY("{\"ok\":{}}") UNTIL_EOF);
    DID("ok: ; ended");
}

/* Its last words are read, also those of one that did not read its job. */
static void one_that_has_ended_is_heard(void **state)
{
    (void) state;
    run_script(SAY("{\"ok\":{}}"));
    DID("ok: ; ended");
}

static void one_without_an_answer(void **state)
{
    static const char *const scripts[] = {"exit 0", READ_JOB "exit 1",
                                          SAY("{\"progress\":\"so\"}")};

    (void) state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        is_over = false;
        run_script(scripts[i]);
        DID("PackagesFailed: the packages worker ended without an answer; its "
            "messages are on the gateway's standard error; ended");
    }
}

/* Its messages say nothing of that. */
static void one_that_is_killed_by_a_signal(void **state)
{
    (void) state;
    run_script(READ_JOB "kill -9 $$");
    DID("PackagesFailed: the packages worker was killed by signal 9 (Killed) "
        "before it answered; by the machine's out-of-memory killer, or a kill "
        "-9; ended");
    is_over = false;
    run_script(SAY("{\"progress\":\"so\"}") "kill -ABRT $$");
    DID("PackagesFailed: the packages worker was killed by signal 6 (Aborted) "
        "before it answered; ended");
    is_over = false;
    run_script(SAY("{\"ok\":{}}") "kill -9 $$");
    DID("ok: ; ended");
}

/* It is asked to end, and its end is awaited. */
static void one_that_closes_its_socket_first(void **state)
{
    (void) state;
    run_script(READ_JOB "exec 3>&-; exit 1");
    DID("PackagesFailed: the packages worker ended without an answer; its "
        "messages are on the gateway's standard error; ended");
}

static void one_that_says_nonsense(void **state)
{
    (void) state;
    run_script("head -c 70000 /dev/zero | dd bs=70000 iflag=fullblock >&3 "
               "2>/dev/null; " SAY("{\"ok\":{}}"));
    DID("PackagesFailed: the packages worker: a datagram of more than 65536 "
        "bytes; ended");
}

static void one_that_takes_too_long(void **state)
{
    (void) state;
    limit_ms = 300;
    run_script(SAY("{\"progress\":\"fetching x\"}") UNTIL_EOF);
    DID("PackagesFailed: the job took longer than 0.005 minutes and was ended; "
        "the last that it said: fetching x; the session has the packages from "
        "before it or all of those from after it: list them to see which; "
        "ended");
}

#define FETCHED                                                                \
    "{\"ok\":{\"sha256\":"                                                     \
    "\"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\","    \
    "\"size\":4,\"cached\":false,\"encoding\":\"\"}}"

/* A kind whose answer comes with a file. */
static void one_whose_file_did_not_come(void **state)
{
    (void) state;
    kind = &fetch_kind;
    run_script(READ_JOB SAY(FETCHED));
    DID("FetchFailed: the fetch worker answered without the file; ended");
    is_over = false;
    run_script(READ_JOB SAY("{\"fault\":\"no\"}"));
    DID("FetchFailed: no; ended");
}

/* Returns a descriptor that keeps stdin, for put_stdin_back; -1 if stdin was
 * closed. Descriptor 0 is open then. */
static int keep_stdin(void)
{
    int kept = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 10);

    if (kept < 0)
        assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
    return kept;
}

static void put_stdin_back(int kept)
{
    if (kept < 0)
        return;
    assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    close(kept);
}

/* Another process that has its socket, too, counts for nothing. */
static void descriptor_0_may_be_its_socket(void **state)
{
    static const char *const scripts[] = {
        READ_JOB SAY("{\"ok\":{}}") UNTIL_EOF,
        READ_JOB "sleep 60 & exit 0",
    };
    static const char *const deeds[] = {
        "ok: ; ended",
        "PackagesFailed: the packages worker ended without an answer; its "
        "messages are on the gateway's standard error; ended",
    };
    int kept = keep_stdin();

    (void) state;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        close(STDIN_FILENO);
        is_over = false;
        run_script(scripts[i]);
        DID(deeds[i]);
        assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    }
    put_stdin_back(kept);
}

static void descriptor_0_may_watch_it(void **state)
{
    int kept = keep_stdin();

    (void) state;
    closes_stdin = true;
    run_script(READ_JOB SAY("{\"ok\":{}}"));
    DID("ok: ; ended");
    assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    put_stdin_back(kept);
}

static void a_signal_does_not_end_the_waiting(void **state)
{
    (void) state;
    is_interrupted = true;
    run_script(READ_JOB SAY("{\"ok\":{}}"));
    DID("ok: ; ended");
    assert_false(is_interrupted);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
}

static void one_that_is_given_up(void **state)
{
    (void) state;
    start(UNTIL_EOF);
    download_process_stop(process);
    download_process_stop(process);
    run();
    DID("ended");
}

/* Nothing is called, and nothing is left. */
static void one_that_is_destroyed(void **state)
{
    cleanup_free char *pid = NULL;
    size_t files = open_files();

    (void) state;
    start("echo $$ >\"${0%/*}/pid.new\"; mv \"${0%/*}/pid.new\" "
          "\"${0%/*}/pid\"; trap '' TERM; while :; do sleep 60; done");
    run_until(has_pid);
    pid = read_file("pid");
    download_process_destroy(&process);
    assert_int_equal(kill((pid_t) strtol(pid, NULL, 10), 0), -1);
    assert_int_equal(errno, ESRCH);
    assert_int_equal(open_files(), files);
    DID("");
}

/* Its file comes with the datagram, which has nothing. */
static void a_job_of_more_than_a_datagram(void **state)
{
    cleanup_free char *text = mem_new(DOWNLOAD_JOB_MAX), *read = NULL;
    json_auto_t *job = NULL;
    size_t files = open_files();
    fault_t fault = {0};
    static const char script[] = "#!/bin/sh\n" READ_JOB SAY("{\"ok\":{}}");

    (void) state;
    memset(text, 'x', DOWNLOAD_JOB_MAX - strlen("{\"order\":\"\"}"));
    job = json_pack("{s:s}", "order", text);
    assert_int_equal(
        file_replace(profile.python, 0755, script, sizeof script - 1, &fault),
        0);
    assert_int_equal(start_with(job, &fault), 0);
    run();
    DID("ok: ; ended");
    read = read_file("job");
    assert_string_equal(read, "{}");
    assert_int_equal(open_files(), files);
}

static void a_job_that_is_too_long_starts_nothing(void **state)
{
    cleanup_free char *text = mem_new(DOWNLOAD_JOB_MAX + 1);
    json_auto_t *job = NULL;
    fault_t fault = {0};

    (void) state;
    memset(text, 'x', DOWNLOAD_JOB_MAX - strlen("{\"order\":\"\"}") + 1);
    job = json_pack("{s:s}", "order", text);
    assert_int_equal(start_with(job, &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "ask for less at once"));
    assert_null(process);
}

static void a_python_that_is_not_there(void **state)
{
    json_auto_t *job = json_object();
    size_t files = open_files();
    fault_t fault = {0};

    (void) state;
    assert_int_equal(start_with(job, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "set `python` of profile python3"));
    assert_int_equal(open_files(), files);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_and_its_answer),
        TEST(the_first_answer_counts),
        TEST(one_that_has_answered_ends),
        TEST(one_that_has_ended_is_heard),
        TEST(one_without_an_answer),
        TEST(one_that_is_killed_by_a_signal),
        TEST(one_that_closes_its_socket_first),
        TEST(one_that_says_nonsense),
        TEST(one_that_takes_too_long),
        TEST(one_whose_file_did_not_come),
        TEST(descriptor_0_may_be_its_socket),
        TEST(descriptor_0_may_watch_it),
        TEST(a_signal_does_not_end_the_waiting),
        TEST(one_that_is_given_up),
        TEST(one_that_is_destroyed),
        TEST(a_job_of_more_than_a_datagram),
        TEST(a_job_that_is_too_long_starts_nothing),
        TEST(a_python_that_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
