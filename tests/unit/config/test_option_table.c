/* The tables of options: their defaults are those that options_new has, and
 * etc/hearth.cfg and hearth.cfg(5) have each of their keys. */
#include "gateway/config/option_table.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/options.h"
#include "tests/lib/options_folder.h"
#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

/* profile_new has the defaults, the table shows them: they are the same. */
static void the_table_has_the_defaults(void **state)
{
    cleanup_options options_t *options = options_new();
    options_item_t item;
    fault_t fault = {0};

    (void) state;
    for (size_t i = 0; options_item(options, i, &item); i++)
        if (*item.row->initial
            && options_set(options, item.key, item.row->initial, &fault) < 0)
            fail_msg("%s", fault.text);
    cleanup_options options_t *fresh = options_new();
    const profile_t *profile = options_profile(options, NULL);
    const profile_t *other = options_profile(fresh, NULL);
    assert_memory_equal(&profile->limits, &other->limits,
                        sizeof(profile_limits_t));
    assert_string_equal(profile->display_name, other->display_name);
    for (size_t i = 0; other->preload[i]; i++)
        assert_string_equal(profile->preload[i], other->preload[i]);
    assert_string_equal(profile->packages.hosts[0], other->packages.hosts[0]);
    assert_null(other->packages.hosts[1]);
    assert_int_equal(profile->packages.cooldown_ms,
                     other->packages.cooldown_ms);
    assert_int_equal(profile->packages.max_bytes, other->packages.max_bytes);
    assert_int_equal(profile->packages.max_files, other->packages.max_files);
    assert_int_equal(profile->packages.requires_hashes,
                     other->packages.requires_hashes);
    assert_int_equal(profile->packages.is_offline, other->packages.is_offline);
    assert_int_equal(profile->packages.has_start_files,
                     other->packages.has_start_files);
    assert_int_equal(profile->packages.has_shadows,
                     other->packages.has_shadows);
    assert_int_equal(profile->packages.serves_cells,
                     other->packages.serves_cells);
    assert_null(other->packages.index);
    assert_null(other->fetch.allow[0]);
    assert_null(other->fetch.deny[0]);
    assert_null(other->fetch.networks[0]);
    assert_int_equal(profile->fetch.max_bytes, other->fetch.max_bytes);
    assert_int_equal(profile->fetch.max_files, other->fetch.max_files);
    assert_int_equal(other->fetch.max_bytes, (uint64_t) 4 << 30);
    assert_int_equal(profile->fetch.serves_cells, other->fetch.serves_cells);
    assert_int_equal(profile->fetch.has_submodules,
                     other->fetch.has_submodules);
}

static char *source_file(const char *name)
{
    const char *folder = getenv("srcdir");
    return mem_format("%s/%s", folder ? folder : ".", name);
}

/* The installed file has every key as a comment with its default; without the
 * comment marks it can be read. */
static void the_installed_file_shows_every_key(void **state)
{
    cleanup_free char *path = source_file("etc/hearth.cfg");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;
    cleanup_options options_t *options = options_new();
    options_item_t item;
    fault_t fault = {0};

    if (options_load(options, path, &fault) < 0
        || file_read(path, 1 << 20, &text, &fault) < 0)
        fail_msg("%s", fault.text);
    const char *whole = (const char *) text.data;
    for (size_t i = 0; options_item(options, i, &item); i++) {
        const char *name = strrchr(item.key, '/') + 1;
        const char *initial = item.row->initial;
        cleanup_free char *line = *initial
                                      ? mem_format("#%s = %s\n", name, initial)
                                      : mem_format("#%s = ", name);
        if (!strstr(whole, line))
            fail_msg("etc/hearth.cfg lacks %s", line);
    }
    for (const char *at = whole; *at; at++)
        if (*at != '#' || at[1] == ' ' || at[1] == '\n')
            buffer_append(&plain, at, 1);
    cleanup_free char *uncommented =
        options_folder_write(*state, (const char *) plain.data);
    if (options_load(options, uncommented, &fault) < 0)
        fail_msg("%s", fault.text);
}

/* hearth.cfg(5) has a paragraph for each key, and for nothing else. */
static void the_manual_has_every_key(void **state)
{
    cleanup_free char *path = source_file("man/hearth.cfg.5");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_options options_t *options = options_new();
    options_item_t item;
    fault_t fault = {0};
    size_t count = 0;
    size_t items = 0;

    (void) state;
    if (file_read(path, 1 << 20, &text, &fault) < 0)
        fail_msg("%s", fault.text);
    for (; options_item(options, count, &item); count++) {
        cleanup_free char *line = mem_format(".It Va %s\n", item.row->key);
        char range[128];
        if (!strstr((const char *) text.data, line))
            fail_msg("hearth.cfg(5) lacks %s", item.row->key);
        option_value_range(item.row, range, sizeof(range));
        assert_true(range[0] && item.row->help[0]);
    }
    for (const char *at = (const char *) text.data;
         (at = strstr(at, ".It Va ")); at++)
        items++;
    assert_int_equal(items, count);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, options_folder_make,                 \
                                    options_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(the_table_has_the_defaults),
        with_folder(the_installed_file_shows_every_key),
        with_folder(the_manual_has_every_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
