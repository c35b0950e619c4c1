/* Requests that wait for the packages of their profile, and how they go on.
 * Sessions and zygotes are records. */
#include "gateway/registry/sessions/package_wait.h"

#include "gateway/registry/core/stats.h"
#include "gateway/registry/sessions/create.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define ANSWERS(text) assert_string_equal(rig_answers(), text)

static void ask(void)
{
    rig_create("{}");
}

static size_t waiting(const registry_parts_t *parts)
{
    return package_wait_size(parts->package_wait);
}

/* The profile's packages are there, or cannot be had. */
static void go_on(const registry_parts_t *parts)
{
    rig_outside.preparing = NULL;
    package_wait_go_on(parts->package_wait, &fake_profile);
}

static void a_request_waits_for_the_packages_of_its_profile(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask();
    ask();
    DID("");
    ANSWERS("");
    assert_int_equal(waiting(parts), 2);
    create_next(parts->create);
    DID("");
    go_on(parts);
    DID("start s1 for uid=7; launch s1; start s2 for uid=7; launch s2");
    assert_int_equal(waiting(parts), 0);
}

/* Also when they are more than may be alive, or than may wait. */
static void those_that_wait_for_packages_take_no_place(void **state)
{
    const registry_parts_t *parts = *state;

    fake_options.capacity.sessions_max = 3;
    fake_options.capacity.starts_queue = 3;
    fake_options.capacity.starts_max = 1;
    rig_outside.preparing = &fake_profile;
    for (int i = 0; i < 4; i++)
        ask();
    ANSWERS("GatewayBusy");
    assert_int_equal(waiting(parts), 3);
    rig_outside.preparing = NULL;
    ask();
    ask();
    DID("start s1 for uid=7; launch s1");
    ANSWERS("");
    /* One place is left. */
    go_on(parts);
    ANSWERS("TooManySessions TooManySessions");
    assert_int_equal(rig_count_limit(STATS_SESSIONS), 2);
    assert_int_equal(create_waiting(parts->create), 2);
    ask();
    ANSWERS("TooManySessions");
}

static void others_pass_those_that_wait_for_packages(void **state)
{
    const registry_parts_t *parts = *state;
    profile_t another = {0};

    rig_outside.preparing = &fake_profile;
    ask();
    rig_outside.preparing = &another;
    ask();
    DID("start s1 for uid=7; launch s1");
    package_wait_go_on(parts->package_wait, &another);
    DID("");
    go_on(parts);
    DID("start s2 for uid=7; launch s2");
}

static void packages_that_cannot_be_had_are_an_error(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask();
    rig_outside.lacks_packages = "packages/preinstall: no";
    go_on(parts);
    ANSWERS("SessionNotStarted");
    ask();
    ANSWERS("SessionNotStarted");
    DID("");
}

/* Asks by a request of that connection, from that process. */
static void ask_from(const registry_parts_t *parts, const char *connection,
                     pid_t process)
{
    message_t *request = rig_request("session_create_request", "{}");
    json_auto_t *content = json_object();

    message_add_identity(request, connection, strlen(connection));
    message_set_sender(request, "uid=7", process);
    create_make(parts->create, content, &request);
}

static pid_t begin_process(void)
{
    pid_t pid = fork();

    if (pid == 0) { /* it ends with a test that fails */
        (void) prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    assert_true(pid > 0);
    return pid;
}

/* Ends the process. Its number is not free as long as it was not waited for. */
static void end_process(pid_t pid)
{
    siginfo_t about;

    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitid(P_PID, (id_t) pid, &about, WEXITED | WNOWAIT), 0);
}

static void what_no_process_waits_for_is_dropped(void **state)
{
    const registry_parts_t *parts = *state;
    pid_t stays = begin_process(), dies = begin_process(),
          is_gone = begin_process();

    rig_outside.preparing = &fake_profile;
    ask_from(parts, "a", stays);
    ask_from(parts, "b", dies);
    end_process(dies);
    go_on(parts);
    DID("start s1 for uid=7; launch s1");
    ANSWERS("RequestWithdrawn");
    /* It takes no place from others either. */
    rig_outside.preparing = &fake_profile;
    fake_options.capacity.starts_queue = 1;
    ask_from(parts, "c", is_gone);
    ask();
    ANSWERS("GatewayBusy");
    end_process(is_gone);
    assert_int_equal(waitpid(is_gone, NULL, 0), is_gone);
    ask();
    ANSWERS("RequestWithdrawn");
    go_on(parts);
    DID("start s2 for uid=7; launch s2");
    end_process(stays);
    assert_int_equal(waitpid(stays, NULL, 0), stays);
    assert_int_equal(waitpid(dies, NULL, 0), dies);
}

static void withdraw(const registry_parts_t *parts, const char *connection,
                     const char *msg_id)
{
    cleanup_message message_t *request =
        rig_request("session_withdraw_request", "{}");

    message_add_identity(request, connection, strlen(connection));
    package_wait_withdraw(parts->package_wait, request, msg_id);
}

/* By its own client alone: all requests here have the id "m". */
static void what_is_withdrawn_is_dropped(void **state)
{
    const registry_parts_t *parts = *state;

    rig_outside.preparing = &fake_profile;
    ask_from(parts, "a", 0);
    ask_from(parts, "b", 0);
    withdraw(parts, "c", "m");
    withdraw(parts, "b", "n");
    ANSWERS("");
    assert_int_equal(waiting(parts), 2);
    withdraw(parts, "b", "m");
    withdraw(parts, "b", "m");
    ANSWERS("RequestWithdrawn");
    assert_int_equal(waiting(parts), 1);
    go_on(parts);
    DID("start s1 for uid=7; launch s1");
    withdraw(parts, "a", "m");
    ANSWERS("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_waits_for_the_packages_of_its_profile),
        TEST(those_that_wait_for_packages_take_no_place),
        TEST(others_pass_those_that_wait_for_packages),
        TEST(packages_that_cannot_be_had_are_an_error),
        TEST(what_no_process_waits_for_is_dropped),
        TEST(what_is_withdrawn_is_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
