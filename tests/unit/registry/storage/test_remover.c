/* A folder is removed by a thread, with all that lies in it. The folder is
 * real, and so is the thread. */
#include "gateway/registry/storage/remover.h"

#include "base/fd.h"
#include "base/log.h"
#include "tests/lib/deeds.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <string.h>
#include <sys/stat.h>

#define DID(text) assert_string_equal(deeds_take(), text)

/* The linker replaces the real function by this (--wrap). The thread has ended
 * when its deeds are read. */
__attribute__((format(printf, 1, 2))) void __wrap_log_error(const char *format,
                                                            ...);

void __wrap_log_error(const char *format, ...)
{
    char text[200];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(text, sizeof text, format, args);
    va_end(args);
    deeds_note("log %s", text);
}

static void make(const char *name)
{
    cleanup_free char *path = inside(name);
    fault_t fault;

    assert_int_equal(path_make_folders(path, 0700, &fault), 0);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = inside(name);
    struct stat status;

    return stat(path, &status) == 0;
}

static remover_t *begin(void)
{
    cleanup_free char *path = inside("gone");

    return remover_new(path);
}

static void what_was_begun_is_done_at_the_end(void **state)
{
    remover_t *self = begin();

    (void) state;
    make("gone/a/b");
    make("stays");
    remover_run(self);
    remover_destroy(&self);
    assert_null(self);
    assert_false(is_there("gone"));
    assert_true(is_there("stays"));
}

static void nothing_is_removed_without_a_word(void **state)
{
    remover_t *self = begin();

    (void) state;
    make("gone/a");
    remover_destroy(&self);
    assert_true(is_there("gone/a"));
}

/* A second word finds nothing, and a third one what has come since. */
static void it_can_be_asked_again(void **state)
{
    cleanup_remover remover_t *self = begin();

    (void) state;
    remover_run(self);
    remover_run(self);
    remover_destroy(&self);
    self = begin();
    make("gone/a");
    remover_run(self);
    remover_run(self);
    remover_destroy(&self);
    assert_false(is_there("gone"));
}

/* A folder that is not there is no fault. */
static void what_cannot_be_removed_is_logged(void **state)
{
    cleanup_free char *too_long = mem_format("%s/%0300d", folder, 0);
    static const char begins[] = "log what is left of old sessions: remove /";
    remover_t *self = remover_new(too_long);

    (void) state;
    remover_run(self);
    remover_destroy(&self);
    assert_memory_equal(deeds_take(), begins, strlen(begins));
    self = begin();
    remover_run(self);
    remover_run(self);
    remover_destroy(&self);
    DID("");
}

static void what_was_not_made_is_not_destroyed(void **state)
{
    remover_t *none = NULL;

    (void) state;
    remover_destroy(&none);
    assert_null(none);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_begun_is_done_at_the_end),
        TEST(nothing_is_removed_without_a_word),
        TEST(it_can_be_asked_again),
        TEST(what_cannot_be_removed_is_logged),
        TEST(what_was_not_made_is_not_destroyed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
