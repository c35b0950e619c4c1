/* Code in a cell that asks for packages: what it may ask for, how it waits
 * beside clients, and how it is answered. Workers and sessions are records. */
#include "gateway/registry/downloads/download_asker.h"

#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(rig_answers(), text)

static void code_in_a_cell_asks(void **state)
{
    (void) state;
    download_fakes_call("aa1", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    DID("start a");
    download_fakes_answer(
        0, "{\"status\":\"ok\",\"added\":[{\"name\":\"a\",\"version\":"
           "\"1\"}]}");
    DID("audit package added by kernel of aa1: {\"index\": "
        "\"https://index/simple/\", \"package\": \"a\", \"rule\": \"any\", "
        "\"version\": \"1\"}");
    assert_string_equal(
        fake_said(),
        "aa1 NOTE; aa1 TOOLS answer 5 {\"status\":\"ok\",\"added\":"
        "[{\"name\":\"a\",\"version\":\"1\"}]}");
    ANSWERED("");
    download_fakes_leave(0);
    DID("destroy a");
}

/* The error is the call's result, as a client gets it. */
static void what_code_asks_is_refused(void **state)
{
    (void) state;
    download_fakes_call("aa1", 5, "{\"order\":\"add\",\"names\":[]}");
    assert_non_null(strstr(fake_said(), "aa1 TOOLS answer 5 {\"status\":"
                                        "\"error\",\"ename\":\"BadRequest\""));
    download_fakes_call("aa1", 6, "[]");
    assert_non_null(strstr(fake_said(), "\"ename\":\"BadRequest\""));
    download_fakes_call("aa1", 6,
                        "{\"order\":\"add\",\"names\":[\"a\\u0000b\"]}");
    assert_non_null(strstr(fake_said(), "without control characters"));
    DID("");
    download_fakes_set_rules("{\"cells\":false}", NULL);
    download_fakes_call("aa1", 7, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(), "(this session was created with "
                                        "packages/cells = no); a client may"));
    (void) deeds_take();
    fake_profile.packages.serves_cells = 0;
    download_fakes_set_rules(NULL, NULL);
    download_fakes_call("aa1", 7, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(
        fake_said(), "code in a cell may not ask for packages here "
                     "(profile/python3/packages/cells); a client may: `hearth "
                     "packages add aa1 NAME`"));
    assert_non_null(strstr(
        deeds_take(), "audit package refused by kernel of aa1: {\"count\": 1, "
                      "\"ename\": \"PackagesOff\", \"names\": [\"a\"], "
                      "\"order\": \"add\""));
    download_fakes_call("aa1", 8, "{\"order\":\"remove\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(), "`hearth packages remove aa1 NAME`"));
    assert_int_equal(download_fakes.started, 0);
    download_fakes_ask("aa1", "add", "a");
    assert_int_equal(download_fakes.started, 1);
    download_fakes_finish(0);
}

/* Half of the places are for clients. */
static void code_does_not_fill_the_queue(void **state)
{
    (void) state;
    download_fakes_ask("aa1", "add", "a");
    for (int i = 0; i < 9; i++) {
        char id[] = "s0";

        id[1] = (char) ('a' + i);
        download_fakes_add_session(id);
        download_fakes_call(id, 1, "{\"order\":\"add\",\"names\":[\"a\"]}");
    }
    assert_non_null(strstr(fake_said(),
                           "si TOOLS answer 1 {\"status\":"
                           "\"error\",\"ename\":\"PackagesBusy\""));
    download_fakes_call("bb2", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(), "8 jobs with packages that cells asked "
                                        "for wait already; try again in 10 s"));
    download_fakes_ask("bb2", "add", "b");
    ANSWERED("");
    download_fakes_finish(0);
    ANSWERED("ok");
}

/* Both ask in the one queue. */
static void code_waits_its_turn(void **state)
{
    (void) state;
    download_fakes_ask("bb2", "add", "b");
    for (uint64_t i = 1; i < 4; i++)
        download_fakes_call("aa1", i, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(),
                           "aa1 TOOLS answer 3 {\"status\":"
                           "\"error\",\"ename\":\"PackagesBusy\""));
    deeds_forget();
    download_fakes_finish(0);
    DID("destroy b; start a");
    /* Its session is gone, and gets no answer. */
    session_table_set_gone(
        download_fakes.parts->table,
        session_table_find(download_fakes.parts->table, "aa1"), 0);
    packages_jobs_on_gone(download_fakes.jobs, "aa1");
    assert_string_equal(fake_said(), "");
    download_fakes_leave(1);
}

/* It keeps its variables, but its thread takes no more messages. */
static void a_session_that_is_drained_gets_no_answer(void **state)
{
    session_entry_t *entry =
        session_table_find(download_fakes.parts->table, "aa1");
    const session_entry_state_t before = entry->state;

    (void) state;
    download_fakes_call("aa1", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    (void) fake_said();
    entry->state = SESSION_ENTRY_DRAINED;
    download_fakes_answer(0, "{\"status\":\"error\",\"ename\":\"E\"}");
    assert_string_equal(fake_said(), "");
    entry->state = before;
    download_fakes_leave(0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, download_fakes_begin,                \
                                    download_fakes_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(code_in_a_cell_asks),
        TEST(what_code_asks_is_refused),
        TEST(code_does_not_fill_the_queue),
        TEST(code_waits_its_turn),
        TEST(a_session_that_is_drained_gets_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
