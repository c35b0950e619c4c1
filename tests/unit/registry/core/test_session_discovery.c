/* A session's file for Jupyter's programs is there while the session can be
 * reached. The sessions are records. */
#include "gateway/registry/core/session_discovery.h"

#include "gateway/discovery/discovery.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include "base/buffer.h"

#include <stdio.h>
#include <string.h>

static registry_parts_t parts;
static char written[200]; /* "+a" for each file, "-a" for each removal */
static bool is_refused;

bool __wrap_discovery_publish_kernel(discovery_t *self, const char *session,
                                     const char *connection_file);
void __wrap_discovery_remove_kernel(discovery_t *self, const char *session);

static void note(char sign, const char *session)
{
    size_t size = strlen(written);

    (void) snprintf(written + size, sizeof written - size, "%c%s", sign,
                    session);
}

bool __wrap_discovery_publish_kernel(discovery_t *self, const char *session,
                                     const char *connection_file)
{
    assert_non_null(self);
    assert_string_equal(connection_file, "/dev/null");
    note('+', session);
    return !is_refused;
}

void __wrap_discovery_remove_kernel(discovery_t *self, const char *session)
{
    assert_non_null(self);
    note('-', session);
}

static int set_up(void **state)
{
    static char any;

    parts = (registry_parts_t){.discovery = (void *) &any,
                               .table = session_table_new(NULL)};
    written[0] = '\0';
    is_refused = false;
    return fake_begin(state);
}

static int tear_down(void **state)
{
    (void) state;
    session_table_destroy(&parts.table);
    return 0;
}

/* `file` exists, or its session's thread has not written it yet. */
static session_entry_t *add(const char *id, fake_kind_t kind, const char *file)
{
    session_entry_t *entry = fake_add(parts.table, id, kind, 0);

    free(entry->connection_file);
    entry->connection_file = mem_text(file);
    session_discovery_follow(&parts, entry);
    return entry;
}

static void expect(const char *wanted)
{
    assert_string_equal(written, wanted);
    written[0] = '\0';
}

static void a_session_is_found_from_ready_to_its_end(void **state)
{
    session_entry_t *entry = add("a", FAKE_FRESH, "/dev/null");

    (void) state;
    expect("");
    session_table_set_ready(parts.table, entry);
    for (int i = 0; i < 2; i++)
        session_discovery_follow(&parts, entry);
    expect("+a");
    session_table_set_gone(parts.table, entry, 0);
    for (int i = 0; i < 2; i++)
        session_discovery_follow(&parts, entry);
    expect("-a");
    session_table_revive(parts.table, entry);
    session_discovery_follow(&parts, entry);
    expect("+a");
}

static void a_member_of_the_pool_is_found_by_its_owner(void **state)
{
    session_entry_t *entry = add("p", FAKE_POOLED, "/dev/null");

    (void) state;
    session_table_set_ready(parts.table, entry);
    session_discovery_follow(&parts, entry);
    expect("");
    session_table_own(parts.table, entry, 1);
    session_discovery_follow(&parts, entry);
    expect("+p");
    session_table_disown(parts.table, entry);
    session_discovery_follow(&parts, entry);
    expect("-p");
}

static void a_session_that_was_taken_over_is_found_at_once(void **state)
{
    session_entry_t *entry;

    (void) state;
    add("t", FAKE_TAKEN, "/dev/null");
    add("g", FAKE_GONE, "/dev/null");
    expect("+t");
    entry = add("u", FAKE_TAKEN, "/nonexistent/connection.json");
    expect("");
    free(entry->connection_file);
    entry->connection_file = mem_text("/dev/null");
    session_table_set_ready(parts.table, entry);
    session_discovery_follow(&parts, entry);
    expect("+u");
}

static void what_was_not_written_is_tried_again_and_not_removed(void **state)
{
    session_entry_t *entry;

    (void) state;
    is_refused = true;
    entry = add("t", FAKE_TAKEN, "/dev/null");
    session_discovery_follow(&parts, entry);
    expect("+t+t");
    session_table_set_gone(parts.table, entry, 0);
    session_discovery_follow(&parts, entry);
    expect("");
}

static void nothing_happens_when_it_is_off(void **state)
{
    (void) state;
    parts.discovery = NULL;
    add("t", FAKE_TAKEN, "/dev/null");
    expect("");
}

#define with_table(test)                                                       \
    cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_table(a_session_is_found_from_ready_to_its_end),
        with_table(a_member_of_the_pool_is_found_by_its_owner),
        with_table(a_session_that_was_taken_over_is_found_at_once),
        with_table(what_was_not_written_is_tried_again_and_not_removed),
        with_table(nothing_happens_when_it_is_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
