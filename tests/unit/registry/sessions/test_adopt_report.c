/* What the log says of the sessions that an earlier gateway has left: how many
 * were found, and which could not be taken over. Descriptions are files of the
 * test, and the sessions that are adopted are records. */
#include "gateway/registry/sessions/adopt.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/registry/sessions/session_factory.h"
#include "kernels/kernel.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static bool lacks_threads; /* no session can be added */

int __wrap_session_factory_add(const registry_parts_t *parts,
                               session_spec_t **spec_p, bool is_start,
                               session_entry_t **ret_entry, fault_t *fault);
void __wrap_kernel_kill_stray(pid_t pid, uint64_t start_time);
int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault);
__attribute__((format(printf, 1, 2))) void __wrap_log_notice(const char *format,
                                                             ...);
__attribute__((format(printf, 1, 2))) void __wrap_log_error(const char *format,
                                                            ...);

int __wrap_session_factory_add(const registry_parts_t *parts,
                               session_spec_t **spec_p, bool is_start,
                               session_entry_t **ret_entry, fault_t *fault)
{
    const session_spec_t *spec = *spec_p;

    assert_false(is_start);
    if (lacks_threads)
        return fault_set(fault, EAGAIN, "no thread for a session");
    *ret_entry = fake_add(parts->table, spec->id,
                          spec->end.reason[0] ? FAKE_GONE : FAKE_TAKEN, 0);
    session_spec_destroy(spec_p);
    return 0;
}

void __wrap_kernel_kill_stray(pid_t pid, uint64_t start_time)
{
    (void) start_time;
    deeds_note("kill %d", (int) pid);
}

int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault)
{
    (void) folder;
    (void) shares_user;
    (void) ret;
    return fault_set(fault, ECONNREFUSED, "no process listens");
}

__attribute__((format(printf, 2, 0))) static void
note(const char *level, const char *format, va_list args)
{
    char text[400];

    (void) vsnprintf(text, sizeof text, format, args);
    deeds_note("%s %s", level, text);
}

void __wrap_log_notice(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note("notice", format, args);
    va_end(args);
}

void __wrap_log_error(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    note("error", format, args);
    va_end(args);
}

static int begin(void **state)
{
    lacks_threads = false;
    return rig_begin(state);
}

/* Leaves a session on disk that ended for that reason, or did not if it is
 * empty. It has its connection file if `has_key`. */
static void leave(const char *id, const char *reason, bool has_key)
{
    connection_file_t connection = {.transport = "tcp", .ip = "127.0.0.1"};
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "%s", id);
    snprintf(spec->end.reason, sizeof spec->end.reason, "%s", reason);
    spec->profile = &fake_profile;
    spec->name = mem_text("n");
    spec->state_folder = session_state_folder(rig_outside.folder, id);
    spec->runtime_folder = mem_format("%s/run/%s", rig_outside.folder, id);
    spec->workspace = mem_text("/w");
    spec->connection_file = mem_format("%s/%s.json", rig_outside.folder, id);
    spec->process.pid = 4711;
    spec->end.ended_us = *reason ? clock_wall_us() : 0;
    assert_int_equal(path_make_folders(spec->state_folder, 0700, &fault), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
    connection.secret = secret_new_random();
    for (int i = 0; i < CHANNEL_COUNT; i++)
        connection.ports[i] = 5000 + i;
    if (has_key)
        assert_int_equal(
            connection_file_write(&connection, spec->connection_file, &fault),
            0);
    connection_file_clear(&connection);
}

static char *make_folder(const char *id)
{
    char *folder = session_state_folder(rig_outside.folder, id);
    fault_t fault;

    assert_int_equal(path_make_folders(folder, 0700, &fault), 0);
    return folder;
}

static void no_session_is_no_news(void **state)
{
    adopt_take_all(*state);
    DID("");
}

static void a_session_that_is_alive_is_counted(void **state)
{
    leave("a", "", true);
    adopt_take_all(*state);
    DID("report a; hold 98 for a; notice 1 sessions of an earlier gateway were "
        "found, 1 of them alive");
}

static void a_session_that_is_gone_is_counted(void **state)
{
    leave("a", "memory", true);
    adopt_take_all(*state);
    DID("report a; notice 1 sessions of an earlier gateway were found, 0 of "
        "them "
        "alive");
}

static void a_session_that_is_lost_is_counted(void **state)
{
    leave("a", "", false);
    adopt_take_all(*state);
    DID("kill 4711; notice 1 sessions of an earlier gateway were found, 0 of "
        "them alive");
}

static void a_half_made_session_is_not(void **state)
{
    cleanup_free char *folder = make_folder("half");

    adopt_take_all(*state);
    DID("");
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void a_session_without_a_thread_is_named(void **state)
{
    leave("a", "", true);
    lacks_threads = true;
    adopt_take_all(*state);
    DID("error session=a not taken over: no thread for a session");
}

static void a_session_without_a_description_is_named(void **state)
{
    cleanup_free char *folder = make_folder("broken");
    cleanup_free char *file = mem_format("%s/session.json", folder);
    fault_t fault;

    assert_int_equal(file_replace(file, 0600, "{", 1, &fault), 0);
    adopt_take_all(*state);
    assert_int_equal(
        strncmp(deeds_take(), "error session=broken not taken over: ", 37), 0);
}

/* Its files are kept, and a person has to look at them. */
static void a_journal_without_a_description_is_named(void **state)
{
    cleanup_free char *folder = make_folder("kept/journal");

    adopt_take_all(*state);
    assert_int_equal(
        strncmp(deeds_take(), "error session=kept not taken over: ", 35), 0);
    assert_int_equal(access(folder, F_OK), 0);
}

/* No gateway gives a session such an id. */
static void what_is_hidden_is_no_session(void **state)
{
    cleanup_free char *folder = make_folder(".hidden");

    adopt_take_all(*state);
    DID("");
    assert_int_equal(access(folder, F_OK), 0);
}

static void a_revival_without_a_thread_is_refused(void **state)
{
    session_entry_t *entry = NULL;
    fault_t fault = {0};

    leave("a", "memory", true);
    lacks_threads = true;
    assert_int_equal(adopt_unearth(*state, "a", &entry, &fault), -EAGAIN);
    assert_null(entry);
    DID("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_session_is_no_news),
        TEST(a_session_that_is_alive_is_counted),
        TEST(a_session_that_is_gone_is_counted),
        TEST(a_session_that_is_lost_is_counted),
        TEST(a_half_made_session_is_not),
        TEST(a_session_without_a_thread_is_named),
        TEST(a_session_without_a_description_is_named),
        TEST(a_journal_without_a_description_is_named),
        TEST(what_is_hidden_is_no_session),
        TEST(a_revival_without_a_thread_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
