/* What the next gateway makes of what an earlier one has left on disk.
 * Descriptions and journals are files of the test, the sessions that are
 * adopted are records. */
#include "gateway/registry/sessions/adopt.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/registry/sessions/session_factory.h"
#include "gateway/session/lifecycle/spec.h"
#include "kernels/kernel.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static session_spec_t *last; /* owned; that was added */
static pid_t killed;
static int unknown;       /* kernels of no known session that were looked for */
static bool is_listening; /* one of them is there */
static int unknown_kills, end_reads; /* it reports its end at the third read */

int __wrap_session_factory_add(const registry_parts_t *parts,
                               session_spec_t **spec_p, bool is_start,
                               session_entry_t **ret_entry, fault_t *fault);
void __wrap_kernel_kill_stray(pid_t pid, uint64_t start_time);
int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault);

void __wrap_kernel_kill(kernel_t *self);
bool __wrap_kernel_read_end(kernel_t *self, kernel_end_t *ret_end);
int __wrap_kernel_init_fd(const kernel_t *self);
void __wrap_kernel_destroy(kernel_t **self_p);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

int __wrap_session_factory_add(const registry_parts_t *parts,
                               session_spec_t **spec_p, bool is_start,
                               session_entry_t **ret_entry, fault_t *fault)
{
    session_spec_t *spec = *spec_p;

    (void) fault;
    assert_false(is_start);
    *ret_entry = fake_add(parts->table, spec->id,
                          spec->end.reason[0] ? FAKE_GONE : FAKE_TAKEN, 0);
    session_spec_destroy(&last);
    last = spec;
    *spec_p = NULL;
    return 0;
}

void __wrap_kernel_kill_stray(pid_t pid, uint64_t start_time)
{
    assert_int_equal(start_time, 77);
    killed = pid;
}

int __wrap_kernel_new(const char *folder, bool shares_user, kernel_t **ret,
                      fault_t *fault)
{
    (void) folder;
    (void) shares_user;
    unknown++;
    if (is_listening) {
        *ret = (kernel_t *) &unknown;
        return 0;
    }
    return fault_set(fault, ECONNREFUSED, "no process listens");
}

void __wrap_kernel_kill(kernel_t *self)
{
    assert_ptr_equal(self, &unknown);
    unknown_kills++;
}

bool __wrap_kernel_read_end(kernel_t *self, kernel_end_t *ret_end)
{
    assert_ptr_equal(self, &unknown);
    (void) ret_end;
    return ++end_reads == 3;
}

/* Polled for nothing: the end comes at once. */
int __wrap_kernel_init_fd(const kernel_t *self)
{
    assert_ptr_equal(self, &unknown);
    return 0;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    (void) fds;
    (void) timeout;
    return (int) count;
}

void __wrap_kernel_destroy(kernel_t **self_p)
{
    *self_p = NULL;
}

static int begin(void **state)
{
    killed = 0;
    is_listening = false;
    unknown_kills = end_reads = 0;
    unknown = 0;
    return rig_begin(state);
}

static int end(void **state)
{
    session_spec_destroy(&last);
    return rig_end(state);
}

static char *state_path(const char *id)
{
    return session_state_folder(rig_outside.folder, id);
}

static session_spec_t *make(const char *id)
{
    session_spec_t *spec = mem_new(sizeof *spec);

    snprintf(spec->id, sizeof spec->id, "%s", id);
    spec->profile = &fake_profile;
    spec->name = mem_text("n");
    spec->state_folder = state_path(id);
    spec->runtime_folder =
        mem_format("%s/sessions-run/%s", rig_outside.folder, id);
    spec->workspace = mem_text("/w");
    spec->connection_file = mem_format("%s/%s.json", rig_outside.folder, id);
    spec->process.pid = 4711;
    spec->process.start_time = 77;
    spec->epoch = 3;
    spec->subscribers = 2;
    return spec;
}

/* Leaves a session on disk, with its connection file if `has_key`. */
static void leave(session_spec_t *spec, bool has_key)
{
    connection_file_t connection = {.transport = "tcp", .ip = "127.0.0.1"};
    fault_t fault;

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
    session_spec_destroy(&spec);
}

/* Reads what is on disk now. */
static session_spec_t *find(const char *id)
{
    cleanup_free char *profile = NULL;
    session_spec_t *spec = NULL;
    fault_t fault;

    return session_spec_find(rig_outside.folder, id, &spec, &profile, &fault)
                   < 0
               ? NULL
               : spec;
}

static void a_session_is_taken_over(void **state)
{
    const registry_parts_t *parts = *state;
    const session_entry_t *entry;

    leave(make("a"), true);
    adopt_take_all(parts);
    entry = session_table_find(parts->table, "a");
    assert_non_null(entry);
    assert_int_equal(entry->host_uid, 98);
    DID("report a; hold 98 for a");
    assert_int_equal(last->epoch, 4);
    assert_int_equal(last->connection.ports[CHANNEL_SHELL],
                     5000 + CHANNEL_SHELL);
    assert_int_equal(last->times.gone_keep_ms, 60000);
    assert_ptr_equal(last->profile, &fake_profile);
    {
        cleanup_session_spec session_spec_t *found = find("a");

        assert_int_equal(found->epoch, 4);
        assert_int_equal(found->subscribers, 2);
    }
    assert_int_equal(killed, 0);
}

static void a_tombstone_is_taken_over(void **state)
{
    const registry_parts_t *parts = *state;
    session_spec_t *spec = make("a");

    snprintf(spec->end.reason, sizeof spec->end.reason, "memory");
    spec->end.ended_us = clock_wall_us();
    leave(spec, true);
    adopt_take_all(parts);
    assert_true(session_entry_is_gone(session_table_find(parts->table, "a")));
    DID("report a"); /* no user is held for it */
}

static void an_old_tombstone_answers_no_more(void **state)
{
    const registry_parts_t *parts = *state;
    session_spec_t *spec = make("a");

    snprintf(spec->end.reason, sizeof spec->end.reason, "memory");
    spec->end.ended_us = clock_wall_us() - 61 * 1000000LL;
    leave(spec, true);
    adopt_take_all(parts);
    assert_int_equal(session_table_count(parts->table), 0);
    {
        cleanup_session_spec session_spec_t *found = find("a");

        assert_non_null(found); /* its recording is kept */
    }
}

/* The machine was booted: no client can reach it. */
static void a_session_without_its_key_is_lost(void **state)
{
    const registry_parts_t *parts = *state;

    leave(make("a"), false);
    adopt_take_all(parts);
    assert_int_equal(session_table_count(parts->table), 0);
    assert_int_equal(killed, 4711);
    {
        cleanup_session_spec session_spec_t *found = find("a");

        assert_string_equal(found->end.reason, "lost");
        assert_non_null(
            strstr(found->end.detail, "its connection file is gone"));
        assert_true(found->end.ended_us > 0);
    }
}

static void a_tombstone_without_a_key_is_unchanged(void **state)
{
    const registry_parts_t *parts = *state;
    session_spec_t *spec = make("a");

    snprintf(spec->end.reason, sizeof spec->end.reason, "memory");
    spec->end.ended_us = clock_wall_us();
    leave(spec, false);
    adopt_take_all(parts);
    assert_int_equal(killed, 0);
    {
        cleanup_session_spec session_spec_t *found = find("a");

        assert_string_equal(found->end.reason, "memory");
    }
}

static void a_member_of_the_pool_is_ended(void **state)
{
    const registry_parts_t *parts = *state;
    session_spec_t *spec = make("a");
    cleanup_free char *folder = mem_text(spec->state_folder);

    spec->is_pooled = true;
    leave(spec, true);
    adopt_take_all(parts);
    assert_int_equal(unknown, 1);
    assert_int_equal(session_table_count(parts->table), 0);
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void an_unreadable_session_is_ended(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *folder = state_path("broken");
    cleanup_free char *file = mem_format("%s/session.json", folder);
    fault_t fault;

    assert_int_equal(path_make_folders(folder, 0700, &fault), 0);
    assert_int_equal(file_replace(file, 0600, "{", 1, &fault), 0);
    leave(make("good"), true);
    adopt_take_all(parts);
    assert_int_equal(unknown, 1);
    assert_non_null(session_table_find(parts->table, "good"));
    assert_int_equal(access(folder, F_OK), 0);
}

/* Leaves what a gateway has made of a session when it is killed before it has
 * written its description. */
static char *leave_half_made(const char *id)
{
    char *folder = state_path(id);
    cleanup_free char *workspace = mem_format("%s/workspace", folder);
    cleanup_free char *spare = mem_format("%s/session.json.before", folder);
    fault_t fault;

    assert_int_equal(path_make_folders(workspace, 0700, &fault), 0);
    assert_int_equal(file_replace(spare, 0600, "{", 1, &fault), 0);
    return folder;
}

static void a_half_made_session_is_removed(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *folder = leave_half_made("half");

    adopt_take_all(parts);
    assert_int_equal(unknown, 1);
    assert_int_equal(session_table_count(parts->table), 0);
    assert_int_not_equal(access(folder, F_OK), 0);
}

/* Its description is lost, but not what it has done. */
static void files_without_a_description_are_kept(void **state)
{
    const registry_parts_t *parts = *state;
    static const char *const parents[] = {"workspace", "journal"};

    for (size_t i = 0; i < sizeof parents / sizeof *parents; i++) {
        cleanup_free char *folder = leave_half_made(parents[i]);
        cleanup_free char *parent = mem_format("%s/%s", folder, parents[i]);
        cleanup_free char *file = mem_format("%s/1", parent);
        fault_t fault;

        assert_int_equal(path_make_folders(parent, 0700, &fault), 0);
        assert_int_equal(file_replace(file, 0600, "x", 1, &fault), 0);
        adopt_take_all(parts);
        assert_int_equal(access(file, F_OK), 0);
        cleanup_free char *spare = mem_format("%s/session.json.before", folder);
        assert_int_equal(access(spare, F_OK), 0);
    }
}

static void a_half_made_session_without_a_workspace_is_removed(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *folder = state_path("half");
    fault_t fault;

    assert_int_equal(path_make_folders(folder, 0700, &fault), 0);
    adopt_take_all(parts);
    assert_int_not_equal(access(folder, F_OK), 0);
}

static void an_empty_journal_is_kept(void **state)
{
    const registry_parts_t *parts = *state;
    cleanup_free char *folder = leave_half_made("half");
    cleanup_free char *journal = mem_format("%s/journal", folder);
    cleanup_free char *workspace = mem_format("%s/workspace", folder);
    fault_t fault;

    assert_int_equal(path_make_folders(journal, 0700, &fault), 0);
    adopt_take_all(parts);
    assert_int_equal(access(journal, F_OK), 0);
    assert_int_equal(access(workspace, F_OK), 0);
}

static void a_kernel_of_no_session_is_killed_and_waited_for(void **state)
{
    session_spec_t *spec = make("a");

    spec->is_pooled = true;
    leave(spec, true);
    is_listening = true;
    adopt_take_all(*state);
    assert_int_equal(unknown_kills, 1);
    assert_int_equal(end_reads, 3);
}

static void a_new_state_folder_has_no_sessions(void **state)
{
    const registry_parts_t *parts = *state;

    adopt_take_all(parts);
    assert_int_equal(session_table_count(parts->table), 0);
}

/* --- Those whose tombstone answers no more --- */

static void an_old_session_is_found_for_a_revival(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = NULL;
    session_spec_t *spec = make("a");
    fault_t fault;

    snprintf(spec->end.reason, sizeof spec->end.reason, "memory");
    spec->end.ended_us = 1;
    leave(spec, true);
    assert_int_equal(adopt_unearth(parts, "a", &entry, &fault), 0);
    assert_int_equal(entry->host_uid, 98);
    assert_int_equal(last->epoch, 4);
    assert_int_equal(last->subscribers, 0);
    assert_string_equal(last->end.reason, "memory");
    assert_true(last->end.ended_us > 1);
    assert_int_equal(last->connection.ports[CHANNEL_SHELL],
                     5000 + CHANNEL_SHELL);
}

static void a_missing_key_is_made_again(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = NULL;
    fault_t fault;

    leave(make("a"), false);
    assert_int_equal(adopt_unearth(parts, "a", &entry, &fault), 0);
    assert_string_equal(last->end.reason, "lost");
    assert_false(secret_is_empty(last->connection.secret));
    assert_non_null(last->connection_file);
    assert_int_equal(access(last->runtime_folder, F_OK), 0);
}

static void ports_of_another_session_are_not_taken(void **state)
{
    const registry_parts_t *parts = *state;
    session_entry_t *entry = NULL;
    session_spec_t *spec = make("a");
    fault_t fault;

    spec->is_external = true;
    leave(spec, true);
    assert_int_equal(adopt_unearth(parts, "a", &entry, &fault), -EPERM);
    assert_int_equal(adopt_unearth(parts, "b", &entry, &fault), -ENOENT);
    assert_int_equal(adopt_unearth(parts, "../a", &entry, &fault), -ENOENT);
    assert_null(entry);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_taken_over),
        TEST(a_tombstone_is_taken_over),
        TEST(an_old_tombstone_answers_no_more),
        TEST(a_session_without_its_key_is_lost),
        TEST(a_tombstone_without_a_key_is_unchanged),
        TEST(a_member_of_the_pool_is_ended),
        TEST(an_unreadable_session_is_ended),
        TEST(a_half_made_session_is_removed),
        TEST(files_without_a_description_are_kept),
        TEST(a_half_made_session_without_a_workspace_is_removed),
        TEST(an_empty_journal_is_kept),
        TEST(a_kernel_of_no_session_is_killed_and_waited_for),
        TEST(a_new_state_folder_has_no_sessions),
        TEST(an_old_session_is_found_for_a_revival),
        TEST(a_missing_key_is_made_again),
        TEST(ports_of_another_session_are_not_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
