/* What a session's folder says of it: its description, and beside it that it
 * was handed out since. */
#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/gateway.h"
#include "gateway/session.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SETTINGS                                                               \
    "{\"name\":\"mine\",\"asker\":\"uid=0\",\"idle_timeout_ms\":1,"            \
    "\"lifetime_ms\":2,\"cell_limit_ms\":3,\"gone_keep_ms\":4,"                \
    "\"created_us\":5,\"restarts\":true}"

static char python[] = "python3";
static const profile_t profile = {.name = python};

/* A member of the pool, its description on disk. */
static session_spec_t *pooled(void)
{
    session_spec_t *spec = mem_new(sizeof *spec);
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "a");
    spec->profile = &profile;
    spec->name = mem_text("a");
    spec->state_folder = inside("a");
    spec->runtime_folder = inside("run");
    spec->workspace = inside("work");
    spec->connection_file = inside("connection.json");
    spec->is_pooled = true;
    spec->created_us = 1000;
    assert_int_equal(path_make_folders(spec->state_folder, 0700, &fault), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
    session_spec_await_handing(spec);
    return spec;
}

static session_spec_t *read_again(const session_spec_t *spec)
{
    cleanup_free char *name = NULL;
    session_spec_t *found = NULL;
    fault_t fault;

    assert_int_equal(
        session_spec_read(spec->state_folder, &found, &name, &fault), 0);
    assert_string_equal(name, python);
    return found;
}

static void note(const session_spec_t *spec, const char *settings)
{
    fault_t fault;

    assert_int_equal(
        session_spec_note_handed(spec->state_folder, settings, &fault), 0);
}

static void is_nobody_s_in_the_pool(void **state)
{
    cleanup_session_spec session_spec_t *spec = pooled();
    cleanup_session_spec session_spec_t *found = read_again(spec);

    (void) state;
    assert_true(found->is_pooled);
    assert_int_equal(found->created_us, 1000);
}

static void is_somebody_s_once_that_is_noted(void **state)
{
    cleanup_session_spec session_spec_t *spec = pooled();
    cleanup_session_spec session_spec_t *found = NULL;

    (void) state;
    note(spec, SETTINGS);
    found = read_again(spec);
    assert_false(found->is_pooled);
    assert_string_equal(found->name, "mine");
    assert_string_equal(found->asker, "uid=0");
    assert_int_equal(found->idle_timeout_ms, 1);
    assert_int_equal(found->lifetime_ms, 2);
    assert_int_equal(found->cell_limit_ms, 3);
    assert_int_equal(found->gone_keep_ms, 4);
    assert_int_equal(found->created_us, 5);
    assert_true(found->restarts);
}

static void is_nobody_s_when_the_note_is_torn(void **state)
{
    cleanup_session_spec session_spec_t *spec = pooled();
    cleanup_session_spec session_spec_t *found = NULL;
    cleanup_free char *half = mem_copy(SETTINGS, strlen(SETTINGS) / 2);

    (void) state;
    note(spec, half);
    found = read_again(spec);
    assert_true(found->is_pooled);
    assert_string_equal(found->name, "a");
}

/* A name may be longer than the blanks. */
static void is_noted_whatever_its_length(void **state)
{
    cleanup_session_spec session_spec_t *spec = pooled();
    cleanup_session_spec session_spec_t *found = NULL;
    char name[3001] = "";
    cleanup_free char *settings = NULL;

    (void) state;
    memset(name, 'n', sizeof name - 1);
    settings = mem_format("{\"name\":\"%s\"}", name);
    note(spec, settings);
    found = read_again(spec);
    assert_false(found->is_pooled);
    assert_string_equal(found->name, name);
}

static void forgets_the_note_when_its_description_says_so(void **state)
{
    cleanup_session_spec session_spec_t *spec = pooled();
    cleanup_session_spec session_spec_t *found = NULL;
    cleanup_free char *path =
        mem_format("%s/%s", spec->state_folder, GATEWAY_HANDED_FILE);
    fault_t fault;

    (void) state;
    note(spec, SETTINGS);
    assert_int_equal(session_spec_hand(spec, SETTINGS), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
    session_spec_forget_handed(spec);
    assert_int_equal(access(path, F_OK), -1);
    found = read_again(spec);
    assert_false(found->is_pooled);
    assert_string_equal(found->name, "mine");
    assert_int_equal(found->idle_timeout_ms, 1);
}

#define IN_A_FOLDER(test)                                                      \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(is_nobody_s_in_the_pool),
        IN_A_FOLDER(is_somebody_s_once_that_is_noted),
        IN_A_FOLDER(is_nobody_s_when_the_note_is_torn),
        IN_A_FOLDER(is_noted_whatever_its_length),
        IN_A_FOLDER(forgets_the_note_when_its_description_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
