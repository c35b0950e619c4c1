/* Where folders and the configuration are: what the environment says, else the
 * places that others have, too. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "tests/lib/options_folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void the_environment_names_folders(void **state)
{
    setenv("HEARTH_RUNTIME_DIR", "/run/a", 1);
    setenv("HEARTH_STATE_DIR", "/var/a", 1);
    setenv("HEARTH_PYTHON", "/opt/a/python3", 1);
    cleanup_options options_t *options = options_new();
    cleanup_free char *path =
        options_folder_write(*state, "gateway\n    runtime_dir = /run/b\n");
    fault_t fault = {0};

    assert_int_equal(options_load(options, path, &fault), 0);
    assert_string_equal(options->runtime_dir, "/run/a");
    assert_string_equal(options->state_dir, "/var/a");
    assert_string_equal(options_profile(options, NULL)->python,
                        "/opt/a/python3");
    assert_int_equal(
        options_set(options, "gateway/runtime_dir", "/run/c", &fault), 0);
    assert_string_equal(options->runtime_dir, "/run/c");
    unsetenv("HEARTH_RUNTIME_DIR");
    unsetenv("HEARTH_STATE_DIR");
    setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/seven", 1);
    cleanup_options options_t *others = options_new();
    assert_string_equal(others->runtime_dir, "/run/user/7/hearth");
    assert_string_equal(others->state_dir, "/home/seven/.local/state/hearth");
}

static void root_has_the_systems_cache(void **state)
{
    static const char *const steps[][3] = {
        {"HOME", "/home/seven", "/home/seven/.cache"},
        {"XDG_CACHE_HOME", "cache", "/home/seven/.cache"},
        {"XDG_CACHE_HOME", "/cache", "/cache"},
    };

    (void) state;
    unsetenv("XDG_CACHE_HOME");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        const char *cache = geteuid() == 0 ? "/var/cache" : steps[i][2];
        cleanup_free char *packages = mem_format("%s/hearth/packages", cache);
        cleanup_free char *fetch = mem_format("%s/hearth/fetch", cache);
        cleanup_options options_t *options = NULL;

        setenv(steps[i][0], steps[i][1], 1);
        options = options_new();
        assert_string_equal(options->packages.dir, packages);
        assert_null(options->packages.uv);
        assert_string_equal(options->fetch.dir, fetch);
        assert_null(options->fetch.ca_file);
    }
    unsetenv("XDG_CACHE_HOME");
}

/* As jupyter_core does on Linux: XDG_RUNTIME_DIR does not matter. */
static void finds_jupyters_runtime_folder(void **state)
{
    static const char *const steps[][3] = {
        {"HOME", "/home/seven", "/home/seven/.local/share/jupyter/runtime"},
        {"XDG_RUNTIME_DIR", "/r", "/home/seven/.local/share/jupyter/runtime"},
        {"XDG_DATA_HOME", "share", "/home/seven/.local/share/jupyter/runtime"},
        {"XDG_DATA_HOME", "/share", "/share/jupyter/runtime"},
        {"JUPYTER_DATA_DIR", "/data", "/data/runtime"},
        {"JUPYTER_RUNTIME_DIR", "", "/data/runtime"},
        {"JUPYTER_RUNTIME_DIR", "/jr", "/jr"},
    };
    static const char *const names[] = {"XDG_DATA_HOME", "JUPYTER_DATA_DIR",
                                        "JUPYTER_RUNTIME_DIR"};

    (void) state;
    for (size_t i = 0; i < 3; i++)
        unsetenv(names[i]);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cleanup_options options_t *options = NULL;

        setenv(steps[i][0], steps[i][1], 1);
        options = options_new();
        assert_string_equal(options->jupyter.runtime_dir, steps[i][2]);
        assert_false(options->jupyter.discovery);
    }
    for (size_t i = 0; i < 3; i++)
        unsetenv(names[i]);
}

static void finds_the_file(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_free char *path =
        options_folder_write(*state, "sessions\n    idle_timeout = 7\n");
    fault_t fault = {0};

    setenv("HEARTH_CONFIG", path, 1);
    assert_int_equal(options_load(options, NULL, &fault), 0);
    assert_int_equal(options->times.idle_timeout_ms, 7000);
    setenv("HEARTH_CONFIG", "/nonexistent/hearth.cfg", 1);
    assert_int_equal(options_load(options, NULL, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nonexistent/hearth.cfg"));
    assert_int_equal(options_load(options, "/nonexistent/x.cfg", &fault),
                     -ENOENT);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, options_folder_make,                 \
                                    options_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(the_environment_names_folders),
        with_folder(finds_jupyters_runtime_folder),
        with_folder(root_has_the_systems_cache),
        with_folder(finds_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
