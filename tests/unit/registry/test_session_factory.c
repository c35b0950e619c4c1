/* What a request says of a session's life: the process that it is held by. The
 * requests are JSON of the test. */
#include "gateway/registry/sessions/session_factory.h"

#include "base/pidfd.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Fills in the wishes of a request from that process; `ret_holder` is who holds
 * the session then. */
static int ask_from(pid_t pid, const char *content, holder_id_t *ret_holder,
                    fault_t *fault)
{
    cleanup_message message_t *request =
        rig_request("session_create_request", content);
    json_auto_t *json = json_loads(content, 0, NULL);
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    int r;

    spec->profile = &fake_profile;
    message_set_sender(request, "uid=7", pid);
    r = session_factory_fill_wishes(&fake_options, json, request, spec, fault);
    *ret_holder = spec->holder;
    return r;
}

static void a_session_is_held_by_the_process_that_asks(void **state)
{
    holder_id_t holder;
    fault_t fault;

    (void) state;
    assert_int_equal(ask_from(getpid(), "{\"held\":true}", &holder, &fault), 0);
    assert_int_equal(holder.pid, getpid());
    assert_true(holder.start_time == pidfd_start_time(getpid()));
    assert_int_equal(ask_from(getpid(), "{}", &holder, &fault), 0);
    assert_int_equal(holder.pid, 0);
}

/* The socket's credentials show a process of another PID namespace as 0. */
static void a_process_that_is_not_seen_holds_no_session(void **state)
{
    holder_id_t holder;
    fault_t fault;

    (void) state;
    assert_int_equal(ask_from(0, "{\"held\":true}", &holder, &fault), -ESRCH);
    assert_non_null(strstr(fault.text, "PID namespace"));
    assert_int_equal(ask_from(0, "{\"held\":false}", &holder, &fault), 0);
}

static void a_process_that_has_ended_holds_no_session(void **state)
{
    holder_id_t holder;
    fault_t fault;
    pid_t pid = fork();

    (void) state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(ask_from(pid, "{\"held\":true}", &holder, &fault), -ESRCH);
    assert_non_null(strstr(fault.text, "does not see that process"));
}

/* Makes the settings of a session of the profile with that index. */
static void fill(const registry_parts_t *parts, const char *index,
                 const char *token, session_spec_t *spec)
{
    fake_profile.packages.index = (char *) (uintptr_t) index;
    *spec = (session_spec_t){.profile = &fake_profile};
    snprintf(spec->packages.token, sizeof spec->packages.token, "%s", token);
    session_factory_fill_settings(parts, spec);
    fake_profile.packages.index = NULL;
}

static void a_session_with_an_index_has_a_token_and_keeps_it(void **state)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    const registry_parts_t *parts = *state;
    session_spec_t one, other;

    fill(parts, NULL, "", &one);
    assert_string_equal(one.packages.token, "");
    fill(parts, "https://a.example/", "", &one);
    fill(parts, "https://a.example/", "", &other);
    assert_true(packages_token_is_valid(one.packages.token));
    assert_true(packages_token_is_valid(other.packages.token));
    assert_string_not_equal(one.packages.token, other.packages.token);
    fill(parts, "https://a.example/", token, &one);
    assert_string_equal(one.packages.token, token);
    fill(parts, NULL, token, &one); /* what it has is removed with it */
    assert_string_equal(one.packages.token, token);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_held_by_the_process_that_asks),
        TEST(a_process_that_is_not_seen_holds_no_session),
        TEST(a_process_that_has_ended_holds_no_session),
        TEST(a_session_with_an_index_has_a_token_and_keeps_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
