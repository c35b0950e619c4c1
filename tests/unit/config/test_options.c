/* The configuration: defaults, file, environment, command line, and the
 * sentence for each wrong value. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/option_table.h"
#include "gateway/config/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int make_folder(void **state)
{
    char *folder = mem_text("/tmp/hearth-test-options-XXXXXX");

    /* What the machine has must not matter. */
    setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    unsetenv("HEARTH_CONFIG");
    unsetenv("HEARTH_RUNTIME_DIR");
    unsetenv("HEARTH_STATE_DIR");
    unsetenv("HEARTH_PYTHON");
    *state = mkdtemp(folder);
    return *state ? 0 : -1;
}

static int remove_folder(void **state)
{
    cleanup_free char *folder = *state;
    fault_t fault;

    return path_remove_tree(folder, &fault);
}

static char *write_file(const char *folder, const char *text)
{
    char *path = mem_format("%s/hearth.cfg", folder);
    fault_t fault = {0};

    if (file_write_atomic(path, 0600, text, strlen(text), &fault) < 0)
        fail_msg("%s", fault.text);
    return path;
}

static void reads_a_file(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_free char *path =
        write_file(*state, "# a comment\n"
                           "gateway\n"
                           "    log_level = debug   # behind a value\n"
                           "    transport = \"ipc\"\n"
                           "    ip = ::1\n"
                           "    drain_grace = 1.5s\n"
                           "\n"
                           "sessions\n"
                           "    idle_timeout = 90\n"
                           "    lifetime = 24h\n"
                           "    restart = auto\n"
                           "profile\n"
                           "    python3\n"
                           "        preload = numpy, scipy.stats\n"
                           "        limits\n"
                           "            processes = 64\n"
                           "            journal_bytes = 2G\n"
                           "    small\n"
                           "        python = /opt/python/bin/python3\n"
                           "        readonly = /data, /srv/models\n"
                           "        mount = /srv/a:b:/c, /x/..y:/.z\n"
                           "        limits\n"
                           "            address_space = 512M\n");
    fault_t fault = {0};

    if (options_load(options, path, &fault) < 0)
        fail_msg("%s", fault.text);
    assert_string_equal(options->file, path);
    assert_int_equal(options->log_level, LOG_LEVEL_DEBUG);
    assert_int_equal(options->transport, OPTIONS_IPC);
    assert_string_equal(options->ip, "::1");
    assert_int_equal(options->drain_grace_ms, 1500);
    assert_int_equal(options->times.idle_timeout_ms, 90000);
    assert_int_equal(options->times.lifetime_ms, 86400000);
    assert_int_equal(options->profiles[0]->limits.journal_bytes, 2ull << 30);
    assert_int_equal(options->restart, OPTIONS_RESTART_AUTO);
    assert_int_equal(options->profile_count, 2);
    const profile_t *first = options_profile(options, NULL);
    assert_string_equal(first->name, "python3");
    assert_string_equal(first->preload[1], "scipy.stats");
    assert_null(first->preload[2]);
    assert_int_equal(first->limits.processes, 64);
    const profile_t *small = options_profile(options, "small");
    assert_string_equal(small->python, "/opt/python/bin/python3");
    assert_string_equal(small->readonly[0], "/data");
    assert_string_equal(small->readonly[1], "/srv/models");
    assert_string_equal(small->mount[0], "/srv/a:b:/c");
    assert_string_equal(small->mount[1], "/x/..y:/.z");
    assert_null(small->mount[2]);
    assert_int_equal(small->limits.address_space, 512u << 20);
    assert_int_equal(small->limits.processes, 512);
    assert_null(options_profile(options, "big"));
}

static void a_list_is_replaced_when_read_again(void **state)
{
    cleanup_options options_t *options = options_new();
    fault_t fault = {0};

    (void) state;
    assert_null(options->allow_env);
    assert_int_equal(
        options_set(options, "sessions/allow_env", "MODEL , REGION", &fault),
        0);
    assert_true(options_permits_variable(options, "MODEL"));
    assert_true(options_permits_variable(options, "REGION"));
    assert_false(options_permits_variable(options, "MODE"));
    assert_int_equal(
        options_set(options, "http/allow_origin",
                    "https://a.example:8443, vscode-webview://b, *", &fault),
        0);
    assert_string_equal(options->http.allow_origin[0],
                        "https://a.example:8443");
    assert_string_equal(options->http.allow_origin[1], "vscode-webview://b");
    assert_string_equal(options->http.allow_origin[2], "*");
    assert_null(options->http.allow_origin[3]);
    assert_int_equal(options_set(options, "sessions/allow_env", "", &fault), 0);
    assert_false(options_permits_variable(options, "MODEL"));
    assert_true(options_permits_variable(options, "KERNEL_MODEL"));
}

static void has_every_default(void **state)
{
    cleanup_options options_t *options = options_new();
    const profile_t *profile = options_profile(options, "");
    fault_t fault = {0};

    (void) state;
    assert_int_equal(options_load(options, NULL, &fault), 0);
    assert_null(options->file);
    assert_int_equal(options->times.idle_timeout_ms, 1200 * 1000);
    assert_int_equal(options->times.lifetime_ms, 0);
    assert_int_equal(options->restart, OPTIONS_RESTART_NEVER);
    assert_int_equal(options->profiles[0]->limits.journal_bytes, 1u << 30);
    assert_int_equal(options->profiles[0]->limits.requests, 10000);
    assert_int_equal(options->profiles[0]->limits.requests_bytes, 256u << 20);
    assert_int_equal(options->spill, 1u << 20);
    assert_int_equal(options->sessions_max, 1000);
    assert_int_equal(options->kept.gone_keep_ms, 3600 * 1000);
    assert_int_equal(options->kept.gone_max, 100);
    assert_int_equal(options->kept.journal_keep_ms, 30LL * 86400 * 1000);
    assert_int_equal(options->orphan_timeout_ms, 3600 * 1000);
    assert_int_equal(options->log_level, LOG_LEVEL_INFO);
    assert_string_equal(options->ip, "127.0.0.1");
    assert_string_equal(profile->name, "python3");
    assert_string_equal(profile->preload[0], "numpy");
    assert_int_equal(profile->python[0], '/');
    assert_int_equal(profile->limits.retain, 64u << 20);
}

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
    assert_int_equal(profile->packages.serves_cells,
                     other->packages.serves_cells);
    assert_null(other->packages.index);
}

static void the_environment_names_folders(void **state)
{
    setenv("HEARTH_RUNTIME_DIR", "/run/a", 1);
    setenv("HEARTH_STATE_DIR", "/var/a", 1);
    setenv("HEARTH_PYTHON", "/opt/a/python3", 1);
    cleanup_options options_t *options = options_new();
    cleanup_free char *path =
        write_file(*state, "gateway\n    runtime_dir = /run/b\n");
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
        {"HOME", "/home/seven", "/home/seven/.cache/hearth/packages"},
        {"XDG_CACHE_HOME", "cache", "/home/seven/.cache/hearth/packages"},
        {"XDG_CACHE_HOME", "/cache", "/cache/hearth/packages"},
    };

    (void) state;
    unsetenv("XDG_CACHE_HOME");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        cleanup_options options_t *options = NULL;

        setenv(steps[i][0], steps[i][1], 1);
        options = options_new();
        assert_string_equal(options->packages_dir,
                            geteuid() == 0 ? "/var/cache/hearth/packages"
                                           : steps[i][2]);
        assert_null(options->packages_uv);
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
        write_file(*state, "sessions\n    idle_timeout = 7\n");
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

static void wrong_values_are_answered_with_the_permitted_ones(void **state)
{
    static const struct {
        const char *key, *value, *words;
    } cases[] = {
        {"gateway/colour", "red", "gateway/colour: there is no such key"},
        {"gateway", "x", "there is no such key"},
        {"", "x", "there is no such key"},
        {"profile/python3", "x", "there is no such key"},
        {"profile/python3/limits/x", "1", "there is no such key"},
        {"profile//python", "/x", "the name of a profile"},
        {"profile/a b/python", "/x", "there is no such key"},
        {"gateway/log_level", "loud", "error|warning|info|debug"},
        {"gateway/log_level", "info|debug", "error|warning|info|debug"},
        {"gateway/ip", "localhost", "an IPv4 or IPv6 address"},
        {"gateway/state_dir", "var", "an absolute path"},
        {"gateway/uid_first", "0", "from 1000 to 2147418112"},
        {"gateway/orphan_timeout", "10ms", "a duration"},
        {"gateway/orphan_timeout", "0.5", "from 1s to 365d, or 0"},
        {"sessions/idle_timeout", "-1", "a duration such as"},
        {"sessions/idle_timeout", "1e3", "a duration such as"},
        {"sessions/idle_timeout", "1.", "a duration such as"},
        {"sessions/idle_timeout", "0.0001", "a duration such as"},
        {"sessions/idle_timeout", "366d", "from 0.001s to 365d"},
        {"sessions/idle_timeout", "99999999999999999999", "a duration"},
        {"sessions/idle_timeout", "", "a duration"},
        {"sessions/journal_bytes", "1G", "profile/<name>/limits/journal_bytes"},
        {"profile/x/limits/journal_bytes", "1000", "from 64K to 1T, or 0"},
        {"profile/x/limits/journal_bytes", "1k", "a size such as"},
        {"profile/x/limits/journal_bytes", "18446744073709551615T", "a size"},
        {"profile/x/limits/requests", "0", "from 1 to 1048576"},
        {"profile/x/limits/requests_bytes", "0", "from 64K to 64G"},
        {"sessions/allow_env", "MODEL, PYTHONPATH", "names of variables"},
        {"sessions/allow_env", "MODEL REGION", "names of variables"},
        {"sessions/inherit_env", "1ST", "names of variables"},
        {"http/allow_origin", "https://a.example/", "without a path"},
        {"http/allow_origin", "a.example", "origins such as"},
        {"http/allow_origin", "https://", "origins such as"},
        {"http/allow_origin", "://a.example", "origins such as"},
        {"http/allow_origin", "null", "origins such as"},
        {"http/allow_origin", "https://a.example,", "origins such as"},
        {"sessions/sessions_max", "0", "from 1 to 100000"},
        {"sessions/sessions_max", "many", "a whole number"},
        {"profile/python3/preload", "numpy;pandas", "names of modules"},
        {"profile/python3/preload", "numpy,,pandas", "names of modules"},
        {"profile/python3/preload", "numpy,", "names of modules"},
        {"profile/python3/preload", ".numpy", "names of modules"},
        {"profile/python3/readonly", "/data, models", "absolute paths"},
        {"profile/python3/mount", "/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "data:/data", "absolute paths without .."},
        {"profile/python3/mount", "/data:data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/../etc:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data:/data/..", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/./data:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv//data:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data/:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data:/", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data:", "SOURCE:TARGET"},
        {"profile/python3/display_name", "", "a text"},
        {"packages/dir", "cache", "an absolute path"},
        {"packages/uv", "uv", "an absolute path"},
        {"packages/index", "https://a.example/", "there is no such key"},
        {"profile/python3/packages/index", "pypi.org/simple",
         "an http or https URL with a host"},
        {"profile/python3/packages/index", "ftp://pypi.org/", "http or https"},
        {"profile/python3/packages/index", "file:///srv/simple", "https URL"},
        {"profile/python3/packages/index", "https:///simple/", "with a host"},
        {"profile/python3/packages/index", "https://a b/", "https URL"},
        {"profile/python3/packages/index", "https://-a.example/", "with a"},
        {"profile/python3/packages/index", "https://a..example/", "with a"},
        {"profile/python3/packages/index", "https://a.example:0/", "with a"},
        {"profile/python3/packages/index", "https://a.example:65536/", "URL"},
        {"profile/python3/packages/index", "https://a.example:/", "https URL"},
        {"profile/python3/packages/index", "http://[::1/", "https URL"},
        {"profile/python3/packages/index", "http://[::1]x/", "https URL"},
        {"profile/python3/packages/index", "http://[localhost]/", "https URL"},
        {"profile/python3/packages/index", "https://me:pw@a.example/simple/",
         "= \"...@a.example/simple/\": must be"},
        {"profile/python3/packages/index", "https://a.example/?token=x",
         "without user, query and fragment"},
        {"profile/python3/packages/index", "https://a.example/#x", "fragment"},
        {"profile/python3/packages/index", "https://a.example/a\nb", "URL"},
        {"profile/python3/packages/index", "https://a.example/a\\b", "URL"},
        {"profile/python3/packages/hosts", "https://a.example",
         "without scheme"},
        {"profile/python3/packages/hosts", "a.example:443", "and port"},
        {"profile/python3/packages/hosts", "a.example,", "names or IPv4"},
        {"profile/python3/packages/hosts", "*.a.example", "names or IPv4"},
        {"profile/python3/packages/hosts", "a.example.", "names or IPv4"},
        {"profile/python3/packages/allow", "humanize>=4", "names of packages"},
        {"profile/python3/packages/allow", "*", "names of packages"},
        {"profile/python3/packages/allow", "-x", "names of packages"},
        {"profile/python3/packages/allow", "x-", "names of packages"},
        {"profile/python3/packages/deny", "a*b", "or their beginning and *"},
        {"profile/python3/packages/deny", "a, b[c]", "names of packages"},
        {"profile/python3/packages/cooldown", "0.5", "from 1s to 3650d, or 0"},
        {"profile/python3/packages/max_bytes", "0", "from 64K to 1T"},
        {"profile/python3/packages/max_files", "0", "from 1 to 100000000"},
        {"profile/new/limits/processes", "x", "from 8 to 1048576"},
        {"profile/new/limits/tmp_bytes", "1M", "limits/shm that of /dev/shm"},
    };
    cleanup_options options_t *options = options_new();
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fault = (fault_t){0};
        assert_int_equal(
            options_set(options, cases[i].key, cases[i].value, &fault),
            -EINVAL);
        if (!strstr(fault.text, cases[i].words))
            fail_msg("%s: %s", cases[i].words, fault.text);
    }
    assert_int_equal(options->profile_count, 1);
    assert_int_equal(options->times.idle_timeout_ms, 1200 * 1000);
}

static void wrong_files_say_where(void **state)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"gateway\n    ip = 1\n", "hearth.cfg:2: gateway/ip = \"1\": must be"},
        {"\n\nsessions\n    idle = 1\n",
         "hearth.cfg:4: sessions/idle: there is no such key"},
        {"session\n    idle_timeout = 1\n",
         "hearth.cfg:1: there is no section session; did you mean sessions"},
        {"session\n",
         "hearth.cfg:1: there is no section session; did you mean sessions"},
        {"gateway = 1\n", "hearth.cfg:1: gateway: there is no such key"},
        {"gateway\n\tip = 1\n", "hearth.cfg:2: a tab"},
        {"gateway\n  ip = 1\n", "hearth.cfg:2: each level is indented"},
        {"gateway\n        ip = ::1\n", "hearth.cfg:2: each level is indented"},
        {"gateway\n    ip ::1\n", "hearth.cfg:2: only = can follow"},
        {"gateway\n    ip\n", "hearth.cfg:2: gateway/ip has no value"},
        {"profile\n    a\n        limit\n",
         "hearth.cfg:3: there is no section profile/a/limit; did you mean "
         "limits"},
        {"gateway\n    ip =\n", "hearth.cfg:2: a value is missing"},
        {"gateway\n    ip = \"::1\n", "hearth.cfg:2: the closing quote"},
        {"gateway\n    ip = \"::1\" x\n", "hearth.cfg:2: there is text"},
        {"gateway\n    !\n", "hearth.cfg:2: a name is"},
        {"[sessions]\n", "hearth.cfg:1: a section is written without brackets"},
        {"profile\n    a\n        limits\n            retain = 1\n",
         "hearth.cfg:4: profile/a/limits/retain = \"1\": must be"},
    };
    fault_t fault;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cleanup_options options_t *options = options_new();
        cleanup_free char *path = write_file(*state, cases[i].text);
        fault = (fault_t){0};
        assert_int_equal(options_load(options, path, &fault), -EINVAL);
        if (!strstr(fault.text, cases[i].words))
            fail_msg("%s: %s", cases[i].words, fault.text);
    }
}

static void all_errors_are_reported_at_once(void **state)
{
    static const char *const words[] = {
        "hearth.cfg:1: a section is written without brackets",
        "hearth.cfg:2: sessions/idle_timout: there is no such key; did you "
        "mean sessions/idle_timeout?",
        "hearth.cfg:4: sessions/restart has a value in ",
        "hearth.cfg:5: there is no section htp; did you mean http?",
        "hearth.cfg:7: idle_timeout: there is no such key; did you mean "
        "sessions/idle_timeout?",
        "hearth.cfg:10: profile/a/memory: there is no such key; did you mean "
        "profile/a/limits/memory?",
    };
    cleanup_options options_t *options = options_new();
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_free char *path = write_file(*state, "[sessions]\n"
                                                 "    idle_timout = 1m\n"
                                                 "    restart = auto\n"
                                                 "    restart = never\n"
                                                 "htp\n"
                                                 "    port = x\n"
                                                 "idle_timeout = 1m\n"
                                                 "profile\n"
                                                 "    a\n"
                                                 "        memory = 1G\n");
    bool is_error = false;

    options_read(options, path, report);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *text = config_report_at(report, i, &is_error);

        if (!text || !is_error || !strstr(text, words[i]))
            fail_msg("%s: %s", words[i], text ? text : "nothing");
    }
    assert_int_equal(config_report_errors(report),
                     sizeof words / sizeof *words);
    assert_int_equal(options->restart, OPTIONS_RESTART_AUTO);
}

static void knows_where_values_come_from(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_free char *path =
        write_file(*state, "gateway\n    log_level = debug\n");

    setenv("HEARTH_STATE_DIR", "/var/a", 1);
    options_read(options, path, report);
    unsetenv("HEARTH_STATE_DIR");
    assert_non_null(strstr(config_report_place(report, "gateway/log_level"),
                           "hearth.cfg:2"));
    assert_string_equal(config_report_place(report, "gateway/state_dir"),
                        "$HEARTH_STATE_DIR");
    assert_null(config_report_place(report, "gateway/ip"));
}

/* A written value is read as the same value; NULL: it is written so. */
static void values_are_written_as_they_are_read(void **state)
{
    static const char *const values[][3] = {
        {"sessions/idle_timeout", "5400", "90m"},
        {"sessions/interrupt_grace", "0.4s", "0.400s"},
        {"sessions/lifetime", "0", "0"},
        {"gateway/log_level", "debug", "debug"},
        {"http/enabled", "False", "no"},
        {"http/enabled", "on", "yes"},
        {"http/allow_origin", "https://a.example,*", "https://a.example, *"},
        {"http/token", "a b", "a b"},
        {"profile/python3/fresh", "true", "yes"},
        {"profile/python3/limits/memory", "1048576K", "1G"},
        {"packages/uv", "/opt/uv", "/opt/uv"},
        {"profile/python3/packages/index", "http://[::1]:8080/a/+simple/",
         NULL},
        {"profile/python3/packages/index", "http://127.0.0.1:9/simple/", NULL},
        {"profile/python3/packages/index", "", ""},
        {"profile/python3/packages/index", "https://pypi.org", NULL},
        {"profile/python3/packages/hosts", "a.example,10.0.0.1",
         "a.example, 10.0.0.1"},
        {"profile/python3/packages/hosts", "", ""},
        {"profile/python3/packages/allow", "ruamel.yaml, Types-*, a",
         "ruamel.yaml, Types-*, a"},
        {"profile/python3/packages/cooldown", "0", "0"},
        {"profile/python3/preload", "", ""},
    };
    cleanup_options options_t *options = options_new();
    options_item_t item;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_int_equal(
            options_set(options, values[i][0], values[i][1], &fault), 0);
        assert_true(options_find(options, values[i][0], &item));
        cleanup_free char *text = option_value_write(item.row, item.base);
        assert_string_equal(text, values[i][2] ? values[i][2] : values[i][1]);
    }
    for (size_t i = 0; options_item(options, i, &item); i++) {
        cleanup_free char *text = option_value_write(item.row, item.base);

        if (*text && options_set(options, item.key, text, &fault) < 0)
            fail_msg("%s", fault.text);
        cleanup_free char *again = option_value_write(item.row, item.base);
        assert_string_equal(again, text);
    }
}

static void an_empty_file_is_fine(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_free char *path = write_file(*state, "");
    fault_t fault = {0};

    if (options_load(options, path, &fault) < 0)
        fail_msg("%s", fault.text);
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
        write_file(*state, (const char *) plain.data);
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
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(reads_a_file),
        with_folder(a_list_is_replaced_when_read_again),
        with_folder(has_every_default),
        with_folder(the_table_has_the_defaults),
        with_folder(the_environment_names_folders),
        with_folder(finds_jupyters_runtime_folder),
        with_folder(root_has_the_systems_cache),
        with_folder(finds_the_file),
        with_folder(wrong_values_are_answered_with_the_permitted_ones),
        with_folder(wrong_files_say_where),
        with_folder(all_errors_are_reported_at_once),
        with_folder(knows_where_values_come_from),
        with_folder(values_are_written_as_they_are_read),
        with_folder(an_empty_file_is_fine),
        with_folder(the_installed_file_shows_every_key),
        with_folder(the_manual_has_every_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
