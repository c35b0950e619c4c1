/* What becomes of a launch, for the session and the audit log. Sessions and the
 * log are records. */
#include "gateway/registry/launch/launch_outcome.h"

#include "tests/lib/deeds.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID(text) assert_string_equal(fake_said(), text)
#define DID(text)  assert_string_equal(deeds_take(), text)

void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details);
void __wrap_mailbox_line_keep_off(mailbox_line_t *self, int processor);

void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details)
{
    cleanup_free char *text =
        json_dumps(details, JSON_COMPACT | JSON_SORT_KEYS);

    (void) self;
    deeds_note("%s %s %s %s", event, session, outcome, text);
    json_decref(details);
}

void __wrap_mailbox_line_keep_off(mailbox_line_t *self, int processor)
{
    (void) self;
    deeds_note("keep off %d", processor);
}

static session_table_t *table;
static zygote_slot_t *slot;

static int begin(void **state)
{
    deeds_forget();
    (void) fake_begin(state);
    table = session_table_new(NULL);
    slot = zygote_slot_new(&fake_profile);
    return 0;
}

static int end(void **state)
{
    (void) state;
    zygote_slot_destroy(&slot);
    session_table_destroy(&table);
    return 0;
}

static session_entry_t *launch(const char *id, uint64_t number)
{
    session_entry_t *entry = fake_add(table, id, FAKE_FRESH, 0);

    zygote_slot_launch(slot, entry, number);
    return entry;
}

static void a_kernel_is_there(void **state)
{
    const zygote_result_t answer = {
        .number = 4, .pid = 77, .pidfd = 5, .processor = 3};

    (void) state;
    (void) launch("a", 3);
    launch("b", 4)->host_uid = 9;
    launch_outcome_launched(NULL, slot, &answer);
    SAID("b LAUNCHED");
    DID("fork b ok {\"host_uid\":9,\"pid\":77,\"profile\":\"python3\"}; "
        "keep off 3");
    assert_null(zygote_slot_find(slot, 4));
    assert_non_null(zygote_slot_find(slot, 3));
}

static void a_kernel_without_a_session_is_killed(void **state)
{
    zygote_result_t answer = {.number = 4};
    int status = 0;

    (void) state;
    answer.pid = fork();
    assert_true(answer.pid >= 0);
    if (answer.pid == 0) {
        (void) pause();
        _exit(0);
    }
    answer.pidfd = (int) syscall(SYS_pidfd_open, answer.pid, 0);
    assert_true(answer.pidfd >= 0);
    launch_outcome_launched(NULL, slot, &answer);
    assert_int_equal(waitpid(answer.pid, &status, 0), answer.pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    assert_int_equal(fcntl(answer.pidfd, F_GETFD), -1);
    DID("");
    SAID("");
}

/* Descriptor 0 is not closed for it. */
static void an_orphan_without_a_descriptor_is_left(void **state)
{
    const zygote_result_t answer = {.number = 4, .pidfd = -1};

    (void) state;
    launch_outcome_launched(NULL, slot, &answer);
    DID("");
    SAID("");
}

static void a_launch_that_is_refused_fails(void **state)
{
    zygote_result_t answer = {.number = 4, .text = "no memory"};

    (void) state;
    launch_outcome_refused(NULL, slot, &answer);
    SAID("");
    DID("");
    (void) launch("a", 4);
    launch_outcome_refused(NULL, slot, &answer);
    SAID("a FAILED");
    DID("fork a failed {\"profile\":\"python3\",\"text\":\"no memory\"}");
    assert_null(zygote_slot_find(slot, 4));
}

static void all_that_wait_for_a_zygote_fail(void **state)
{
    (void) state;
    (void) zygote_slot_on_refused(slot, "no such file");
    zygote_slot_park(slot, fake_add(table, "a", FAKE_FRESH, 0));
    zygote_slot_park(slot, fake_add(table, "b", FAKE_FRESH, 0));
    launch_outcome_give_up(NULL, slot);
    SAID("a FAILED; b FAILED");
    DID("fork a failed {\"profile\":\"python3\",\"text\":\"profile python3 "
        "cannot start: no such file\"}; fork b failed {\"profile\":"
        "\"python3\",\"text\":\"profile python3 cannot start: no such file\"}");
    launch_outcome_give_up(NULL, slot);
    SAID("");
}

static void a_launch_is_repeated_if_the_next_zygote_comes(void **state)
{
    (void) state;
    zygote_slot_on_started(slot, 0);
    (void) launch("a", 1);
    assert_true(zygote_slot_comes_back(slot));
    launch_outcome_settle(NULL, slot, "killed");
    SAID("a AGAIN");
    DID("");
    assert_null(zygote_slot_first_launch(slot));
}

static void it_fails_if_none_comes(void **state)
{
    (void) state;
    (void) launch("a", 1);
    assert_false(zygote_slot_comes_back(slot));
    launch_outcome_settle(NULL, slot, "killed");
    SAID("a FAILED");
    DID("fork a failed {\"profile\":\"python3\",\"text\":\"killed\"}");
    assert_null(zygote_slot_first_launch(slot));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_is_there),
        TEST(a_kernel_without_a_session_is_killed),
        TEST(an_orphan_without_a_descriptor_is_left),
        TEST(a_launch_that_is_refused_fails),
        TEST(all_that_wait_for_a_zygote_fail),
        TEST(a_launch_is_repeated_if_the_next_zygote_comes),
        TEST(it_fails_if_none_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
