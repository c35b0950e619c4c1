/* What is left of a gone session is moved aside when its time is over. The
 * folders are real, the sessions are records. */
#include "gateway/registry/storage/retention.h"

#include "tests/lib/folder.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP_MS 100000

#define TOKEN "0123456789abcdef0123456789abcdef"

static int removals;
static packages_folder_t *packages; /* of the tests that have it */

static size_t first_ms; /* of the timer that was started; 0: none was */
static int lost;        /* how often `discarded` is yet to be removed at once */

void __wrap_remover_run(remover_t *self);
int __wrap_path_make_folders(const char *path, mode_t mode, fault_t *fault);
int __real_path_make_folders(const char *path, mode_t mode, fault_t *fault);
int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *fn, void *arg);

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *fn, void *arg)
{
    (void) loop;
    (void) fn;
    (void) arg;
    assert_int_equal(times, 1);
    first_ms = delay;
    return 1;
}

void __wrap_remover_run(remover_t *self)
{
    (void) self;
    removals++;
}

/* Is as fast as the remover's thread may be. */
int __wrap_path_make_folders(const char *path, mode_t mode, fault_t *fault)
{
    int r = __real_path_make_folders(path, mode, fault);

    if (lost > 0 && strstr(path, "/discarded")) {
        lost--;
        assert_int_equal(rmdir(path), 0);
    }
    return r;
}

static int begin(void **state)
{
    removals = 0;
    lost = 0;
    return fake_begin(state) == 0 ? make_folder(state) : -1;
}

/* Writes a session's state folder; reason "": it has not ended. */
static void leave_of(const char *id, const char *reason, int64_t ended_us,
                     const char *token)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "%s", id);
    snprintf(spec->packages.token, sizeof spec->packages.token, "%s", token);
    spec->profile = &fake_profile;
    spec->name = mem_text(id);
    spec->state_folder = session_state_folder(folder, id);
    spec->runtime_folder = mem_text("/run");
    spec->workspace = mem_text("/tmp");
    spec->connection_file = mem_text("/run/connection.json");
    spec->end.ended_us = ended_us;
    snprintf(spec->end.reason, sizeof spec->end.reason, "%s", reason);
    assert_int_equal(path_make_folders(spec->state_folder, 0700, &fault), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
}

/* `ended_us` 0: it has not ended. */
static void leave_with(const char *id, int64_t ended_us, const char *token)
{
    leave_of(id, ended_us ? "idle" : "", ended_us, token);
}

static void leave(const char *id, int64_t ended_us)
{
    leave_with(id, ended_us, "");
}

static bool is_there(const char *path)
{
    cleanup_free char *whole = inside(path);
    struct stat status;

    return stat(whole, &status) == 0;
}

static retention_t *make(const session_table_t *table)
{
    cleanup_free char *aside = inside("discarded");
    retention_t *retention =
        retention_new(folder, aside, KEEP_MS, table, packages, NULL);

    retention_begin(retention, 1000000000, 0);
    return retention;
}

/* Returns when the first pass begins. */
static size_t run(int64_t keep_ms)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_free char *aside = inside("discarded");
    cleanup_retention retention_t *retention =
        retention_new(folder, aside, keep_ms, table, packages, NULL);

    first_ms = 0;
    removals = 0;
    retention_run(retention, NULL);
    assert_int_equal(removals, 1);
    return first_ms;
}

/* Removes at once, in any case, what an earlier gateway left aside. */
static void begins_soon_unless_all_is_kept(void **state)
{
    (void) state;
    assert_int_equal(run(KEEP_MS), 500);
    assert_int_equal(run(0), 0);
}

static void removes_expired_sessions_only(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);

    (void) state;
    leave("over", 1000000000 - KEEP_MS * 1000LL - 1);
    leave("just", 1000000000 - KEEP_MS * 1000LL);
    leave("alive", 0);
    leave("known", 1);
    fake_add(table, "known", FAKE_GONE, 0);
    assert_int_equal(retention_step(retention, 1000000000, 0), KEEP_MS / 10);
    assert_false(is_there("sessions/over"));
    assert_true(is_there("discarded/over"));
    assert_true(is_there("sessions/just"));
    assert_true(is_there("sessions/alive"));
    assert_true(is_there("sessions/known"));
    assert_int_equal(removals, 1);
    assert_int_equal(retention_step(retention, 1000000000, 1), KEEP_MS / 10);
    assert_int_equal(removals, 1);
    assert_int_equal(retention_step(retention, 1000000001, 1), KEEP_MS / 10);
    assert_false(is_there("sessions/just"));
    assert_int_equal(removals, 2);
}

static void ignores_a_clock_that_was_set_forward(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);

    (void) state;
    leave("young", 1000000000);
    retention_step(retention, 9000000000000, 1000);
    assert_true(is_there("sessions/young"));
    retention_step(retention, 9000000000000, KEEP_MS + 1);
    assert_false(is_there("sessions/young"));
}

static void looks_at_a_few_in_a_row(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);
    int slices = 1;

    (void) state;
    for (int i = 0; i < 40; i++) {
        char id[16];

        snprintf(id, sizeof id, "s%d", i);
        leave(id, 1);
    }
    while (retention_step(retention, 1000000000, 0) == 50)
        slices++;
    assert_in_range(slices, 3, 4);
    assert_int_equal(removals, 1);
    assert_true(is_there("discarded/s0"));
    assert_true(is_there("discarded/s39"));
}

/* Makes the folders of packages, and that of a session. */
static void make_packages(void)
{
    cleanup_free char *made = inside("p/sessions/" TOKEN);
    options_t options = {.packages.dir = inside("p"), .state_dir = inside("s")};
    const packages_owners_t owners = {0};
    fault_t fault;

    assert_int_equal(packages_folder_new(&options, &owners, &packages, &fault),
                     0);
    assert_int_equal(path_make_folders(made, 0700, &fault), 0);
    free(options.packages.dir);
    free(options.state_dir);
}

static void packages_go_with_their_session(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    retention_t *retention = NULL;
    json_auto_t *reply = NULL;

    (void) state;
    make_packages();
    retention = make(table);
    leave_with("young", 1000000000, TOKEN);
    retention_step(retention, 1000000000, 0);
    assert_true(is_there("p/sessions/" TOKEN));
    reply = retention_remove(retention, "young");
    assert_string_equal(json_string_value(json_object_get(reply, "status")),
                        "ok");
    assert_false(is_there("p/sessions/" TOKEN));
    assert_true(is_there("discarded/young"));
    packages_folder_destroy(&packages);
    make_packages();
    retention_destroy(&retention);
    retention = make(table);
    leave_with("over", 1, TOKEN);
    retention_step(retention, 1000000000, 0);
    assert_false(is_there("p/sessions/" TOKEN));
    assert_true(is_there("discarded/over"));
    retention_destroy(&retention);
    packages_folder_destroy(&packages);
}

static void moves_aside_while_the_remover_is_fast(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);
    json_auto_t *reply = NULL;

    (void) state;
    leave("over", 1);
    lost = 2;
    reply = retention_remove(retention, "over");
    assert_string_equal(json_string_value(json_object_get(reply, "status")),
                        "ok");
    assert_int_equal(lost, 0);
    assert_false(is_there("sessions/over"));
    assert_true(is_there("discarded/over"));
}

static void gives_up_on_a_folder_that_is_always_removed(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);
    json_auto_t *reply = NULL;

    (void) state;
    leave("over", 1);
    lost = 101;
    reply = retention_remove(retention, "over");
    assert_string_equal(json_string_value(json_object_get(reply, "ename")),
                        "RemoveError");
    assert_int_equal(lost, 1);
    assert_true(is_there("sessions/over"));
    assert_int_equal(removals, 0);
    retention_step(retention, 1000000000, 0); /* and this is one more */
    assert_true(is_there("discarded/over"));
}

static void takes_an_end_with_reason_and_time_alone(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);
    static const char *const left[] = {"timeless", "causeless"};

    (void) state;
    leave_of("timeless", "idle", 0, "");
    leave_of("causeless", "", 1, "");
    retention_step(retention, 1000000000, 0);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        cleanup_free char *path = mem_format("sessions/%s", left[i]);
        json_auto_t *reply = retention_remove(retention, left[i]);

        assert_true(is_there(path));
        assert_string_equal(json_string_value(json_object_get(reply, "ename")),
                            "UnknownSession");
    }
    assert_int_equal(removals, 0);
}

static void removes_gone_sessions_alone_on_request(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);
    static const char *const wrong[] = {"known", "alive", "none", "a/../over"};

    (void) state;
    leave("over", 1);
    leave("known", 1);
    leave("alive", 0);
    fake_add(table, "known", FAKE_GONE, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_auto_t *reply = retention_remove(retention, wrong[i]);

        assert_string_equal(json_string_value(json_object_get(reply, "ename")),
                            "UnknownSession");
    }
    assert_int_equal(removals, 0);
    json_auto_t *reply = retention_remove(retention, "over");
    assert_string_equal(json_string_value(json_object_get(reply, "status")),
                        "ok");
    assert_int_equal(removals, 1);
    assert_true(is_there("discarded/over"));
}

/* Returns how long the gateway pauses between two passes. */
static int64_t pause_of(int64_t keep_ms)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_free char *aside = inside("discarded");
    cleanup_retention retention_t *retention =
        retention_new(folder, aside, keep_ms, table, packages, NULL);

    return retention_step(retention, 1000000000, 0);
}

static void looks_as_often_as_the_time_asks_for(void **state)
{
    (void) state;
    assert_int_equal(pause_of(1), 1000);
    assert_int_equal(pause_of(10010), 1001);
    assert_int_equal(pause_of(35999990), 3599999);
    assert_int_equal(pause_of(36000010), 3600000);
}

static void takes_the_wall_clock_if_it_was_set_back(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);

    (void) state;
    leave("young", 1000000000 - KEEP_MS * 500LL);
    retention_step(retention, 1000000000, KEEP_MS);
    assert_true(is_there("sessions/young"));
}

/* Returns how many recordings are listed after that one. */
static size_t list(const retention_t *retention, const char *after,
                   const char *first, const char *next)
{
    json_auto_t *reply = retention_list(retention, after);
    const json_t *recordings = json_object_get(reply, "recordings");
    const json_t *one = json_array_get(recordings, 0);

    assert_string_equal(json_string_value(json_object_get(reply, "next")),
                        next);
    if (*first)
        assert_string_equal(json_string_value(json_object_get(one, "id")),
                            first);
    return json_array_size(recordings);
}

static void lists_what_is_left_of_gone_sessions_by_pages(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);

    (void) state;
    assert_int_equal(list(retention, "", "", ""), 0);
    leave(".hidden", 1);
    leave("alive", 0);
    leave("known", 1);
    leave_of("causeless", "", 1, "");
    leave_of("timeless", "idle", 0, "");
    fake_add(table, "known", FAKE_GONE, 0);
    assert_int_equal(list(retention, "", "", ""), 0);
    for (int i = 10; i < 70; i++) {
        char id[16];

        snprintf(id, sizeof id, "s%d", i);
        leave(id, 1);
    }
    /* A page has 64 sessions, of which some are no recordings. */
    assert_int_equal(list(retention, "", "s10", ""), 60);
    leave("s70", 1);
    assert_int_equal(list(retention, "", "s10", "s70"), 61);
    assert_int_equal(list(retention, "s10", "s11", ""), 60);
    assert_int_equal(list(retention, "s70", "", ""), 0);
}

static void does_nothing_without_sessions(void **state)
{
    cleanup_session_table session_table_t *table = session_table_new(NULL);
    cleanup_retention retention_t *retention = make(table);

    (void) state;
    assert_int_equal(retention_step(retention, 1000000000, 0), KEEP_MS / 10);
    assert_int_equal(removals, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(removes_expired_sessions_only, begin,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(begins_soon_unless_all_is_kept, begin,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(ignores_a_clock_that_was_set_forward,
                                        begin, remove_folder),
        cmocka_unit_test_setup_teardown(looks_at_a_few_in_a_row, begin,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(packages_go_with_their_session, begin,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(moves_aside_while_the_remover_is_fast,
                                        begin, remove_folder),
        cmocka_unit_test_setup_teardown(
            gives_up_on_a_folder_that_is_always_removed, begin, remove_folder),
        cmocka_unit_test_setup_teardown(takes_an_end_with_reason_and_time_alone,
                                        begin, remove_folder),
        cmocka_unit_test_setup_teardown(removes_gone_sessions_alone_on_request,
                                        begin, remove_folder),
        cmocka_unit_test_setup_teardown(looks_as_often_as_the_time_asks_for,
                                        begin, remove_folder),
        cmocka_unit_test_setup_teardown(takes_the_wall_clock_if_it_was_set_back,
                                        begin, remove_folder),
        cmocka_unit_test_setup_teardown(
            lists_what_is_left_of_gone_sessions_by_pages, begin, remove_folder),
        cmocka_unit_test_setup_teardown(does_nothing_without_sessions, begin,
                                        remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
