/* A gateway stops when all sessions are kept or ended, or do not answer. The
 * sessions are records. */
#include "gateway/registry/core/closing.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/session/lifecycle/spec.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>
#include <unistd.h>

#define SAID(text) assert_string_equal(fake_said(), text)

static int64_t now_ms;
static size_t delays[4];
static zloop_timer_fn *handlers[4];
static void *args[4];
static size_t timers;
static int stops, ends;
static bool thread_hangs;

int64_t __wrap_clock_monotonic_ms(void);
int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
bool __wrap_mailbox_line_end(mailbox_line_t **self_p, int64_t deadline_ms);
void __wrap_mailbox_line_stop(mailbox_line_t *self);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    (void) loop;
    (void) times;
    delays[timers] = delay;
    handlers[timers] = handler;
    args[timers] = arg;
    return (int) ++timers;
}

bool __wrap_mailbox_line_end(mailbox_line_t **self_p, int64_t deadline_ms)
{
    assert_int_equal(deadline_ms, now_ms + 10000);
    ends++;
    if (thread_hangs)
        return false;
    *self_p = NULL;
    return true;
}

void __wrap_mailbox_line_stop(mailbox_line_t *self)
{
    (void) self;
    stops++;
}

static session_table_t *table;
static pending_requests_t *pending;
static closing_t *closing;

static int begin(void **state)
{
    static char state_dir[] = "/nonexistent";

    fake_begin(state);
    fake_options.drain_grace_ms = 3000;
    fake_options.state_dir = state_dir;
    now_ms = 100000;
    timers = 0;
    stops = ends = 0;
    thread_hangs = false;
    table = session_table_new(NULL);
    pending = pending_requests_new(NULL, table, NULL);
    closing = closing_new(&fake_options, table, pending, NULL);
    return 0;
}

static int end(void **state)
{
    (void) state;
    closing_destroy(&closing);
    assert_null(closing);
    pending_requests_destroy(&pending);
    session_table_destroy(&table);
    return 0;
}

static session_entry_t *add(const char *id, fake_kind_t kind)
{
    return fake_add(table, id, kind, now_ms);
}

static void a_running_gateway_is_not_done_closing(void **state)
{
    (void) state;
    assert_false(closing_is_done(closing));
}

static void sessions_are_kept(void **state)
{
    session_entry_t *kept = add("a", FAKE_TAKEN), *external, *pooled;

    (void) state;
    add("gone", FAKE_GONE);
    external = add("b", FAKE_TAKEN);
    external->is_external = true;
    pooled = add("c", FAKE_POOLED);
    closing_begin(closing, false);
    SAID("c DELETE; c SHOW; b DELETE; b SHOW; a DRAIN; a SHOW");
    assert_true(session_table_is_closing(table));
    assert_int_equal(delays[0], 5000);
    /* For what is under way, and two seconds. */
    assert_int_equal(delays[1], 10000);
    assert_false(closing_is_done(closing));
    assert_int_equal(handlers[0](NULL, 0, args[0]), 0);
    session_table_set_drained(table, kept);
    session_table_set_gone(table, external, now_ms);
    assert_false(closing_is_done(closing));
    session_table_set_gone(table, pooled, now_ms);
    assert_true(closing_is_done(closing));
    assert_int_equal(handlers[0](NULL, 0, args[0]), -1);
    closing_begin(closing, true); /* once */
    SAID("");
    assert_false(closing_ends_sessions(closing));
}

static void sessions_are_ended(void **state)
{
    (void) state;
    add("a", FAKE_TAKEN);
    closing_begin(closing, true);
    assert_true(closing_ends_sessions(closing));
    SAID("a DELETE; a SHOW");
    assert_int_equal(delays[1], 10000);
    assert_int_equal(handlers[1](NULL, 0, args[1]), -1);
}

static void a_running_cell_has_its_grace(void **state)
{
    (void) state;
    fake_options.drain_grace_ms = 30000;
    closing_begin(closing, false);
    assert_int_equal(delays[1], 32000);
}

/* Its client is refused, so no client would have it. */
static void a_session_that_has_not_started_is_ended(void **state)
{
    session_entry_t *entry = add("a", FAKE_FRESH);
    message_t *request = fake_request(7);

    (void) state;
    entry->create_token =
        pending_requests_add_start(pending, NULL, &request, 0);
    closing_begin(closing, false);
    SAID("a DELETE; a SHOW");
    assert_true(entry->is_pooled);
    assert_int_equal(entry->create_token, 0);
    assert_non_null(
        strstr(fake_answered(), "7 {\"ename\":\"GatewayStopping\""));
}

/* Its client has its journal and its files. */
static void a_session_that_is_being_revived_is_kept(void **state)
{
    session_entry_t *entry = add("a", FAKE_GONE);

    (void) state;
    session_table_revive(table, entry);
    entry->create_token = 7;
    closing_begin(closing, false);
    SAID("a DRAIN; a SHOW");
    assert_int_equal(entry->create_token, 7);
}

static void a_session_that_does_not_answer_is_not_waited_for(void **state)
{
    (void) state;
    add("a", FAKE_TAKEN);
    closing_begin(closing, false);
    now_ms += 4999;
    assert_false(closing_is_done(closing));
    now_ms += 1;
    assert_true(closing_is_done(closing));
}

static void a_gateway_without_sessions_is_done_at_once(void **state)
{
    (void) state;
    closing_begin(closing, false);
    assert_true(closing_is_done(closing));
}

static void all_threads_end(void **state)
{
    (void) state;
    add("a", FAKE_TAKEN);
    add("b", FAKE_GONE);
    closing_begin(closing, true);
    assert_true(closing_end_threads(closing));
    assert_int_equal(stops, 2);
    assert_int_equal(ends, 2);
    assert_int_equal(session_table_count(table), 0);
    assert_true(closing_end_threads(closing));
}

/* Makes the folder of a session's state, and its runtime folder. */
static void make_folders(session_entry_t *entry, const char *runtime)
{
    cleanup_free char *state =
        session_state_folder(fake_options.state_dir, entry->id);
    fault_t fault;

    free(entry->runtime_folder);
    entry->runtime_folder =
        mem_format("%s/%s", fake_options.state_dir, runtime);
    assert_int_equal(path_make_folders(state, 0700, &fault), 0);
    assert_int_equal(path_make_folders(entry->runtime_folder, 0700, &fault), 0);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = mem_format("%s/%s", fake_options.state_dir, name);

    return access(path, F_OK) == 0;
}

/* State that can be used again is kept: that of all sessions but the pool's
 * members, and the data that the next gateway needs of live sessions. */
static void only_expired_sessions_are_removed(void **state)
{
    static const bool choices[] = {false, true};
    char folder[] = "/tmp/hearth-test-closing-XXXXXX";
    fault_t fault;

    (void) state;
    fake_options.state_dir = mkdtemp(folder);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        closing_destroy(&closing);
        session_table_destroy(&table);
        table = session_table_new(NULL);
        closing = closing_new(&fake_options, table, pending, NULL);
        timers = 0;
        make_folders(add("alive", FAKE_TAKEN), "r1");
        make_folders(add("gone", FAKE_GONE), "r2");
        make_folders(add("pooled", FAKE_POOLED), "r3");
        make_folders(add("spent", FAKE_POOLED), "r4");
        session_table_set_gone(table, session_table_find_any(table, "spent"),
                               now_ms);
        closing_begin(closing, choices[i]);
        assert_true(closing_end_threads(closing));
        assert_true(is_there("r1"));
        assert_int_equal(is_there("r2"), !choices[i]);
        assert_true(is_there("r3"));
        assert_false(is_there("r4"));
        assert_true(is_there("sessions/gone"));
        assert_true(is_there("sessions/pooled"));
        assert_false(is_there("sessions/spent"));
    }
    (void) path_remove_tree(folder, &fault);
}

/* It may still report: its entry stays, out of the table. */
static void a_thread_that_hangs_is_left(void **state)
{
    session_entry_t *entry = add("a", FAKE_TAKEN);

    (void) state;
    thread_hangs = true;
    closing_begin(closing, false);
    assert_false(closing_end_threads(closing));
    assert_int_equal(session_table_count(table), 0);
    entry->line = NULL;
    session_entry_destroy(&entry);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_running_gateway_is_not_done_closing),
        TEST(sessions_are_kept),
        TEST(sessions_are_ended),
        TEST(a_running_cell_has_its_grace),
        TEST(a_session_that_has_not_started_is_ended),
        TEST(a_session_that_is_being_revived_is_kept),
        TEST(a_session_that_does_not_answer_is_not_waited_for),
        TEST(a_gateway_without_sessions_is_done_at_once),
        TEST(all_threads_end),
        TEST(only_expired_sessions_are_removed),
        TEST(a_thread_that_hangs_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
