/* The configuration: defaults, file, environment, command line, and the
 * sentence for each wrong value. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "gateway/config/option_table.h"
#include "tests/lib/options_folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void reads_a_file(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_free char *path = options_folder_write(
        *state, "# a comment\n"
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
    assert_null(options->environment.allow);
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
    assert_int_equal(options->capacity.sessions_max, 1000);
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
        {"fetsh\n", "there is no section fetsh; did you mean fetch"},
        {"profile\n    a\n        fetsh\n",
         "there is no section profile/a/fetsh; did you mean fetch"},
        {"profile\n    a\n        fetch\n            alow = a.example\n",
         "profile/a/fetch/alow: there is no such key; did you mean "
         "profile/a/fetch/allow?"},
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
        cleanup_free char *path = options_folder_write(*state, cases[i].text);
        fault = (fault_t){0};
        assert_int_equal(options_load(options, path, &fault), -EINVAL);
        if (!strstr(fault.text, cases[i].words))
            fail_msg("%s: %s", cases[i].words, fault.text);
    }
}

/* Returns the fault of a file whose only list has a package with a hash of that
 * many letters; "" without one. */
static const char *load_line(void **state, size_t letters, fault_t *fault)
{
    static const char start[] =
        "profile\n    a\n        packages\n            ";
    static const char line[] = "preinstall = a==1 --hash=sha256:";
    cleanup_options options_t *options = options_new();
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_free char *path = NULL;

    buffer_format(&text, "%s%s", start, line);
    while (letters--)
        buffer_text(&text, "0");
    buffer_append(&text, "\n", 2);
    path = options_folder_write(*state, (const char *) text.data);
    *fault = (fault_t){0};
    return options_load(options, path, fault) < 0 ? fault->text : "";
}

static void a_line_has_room_for_hashes(void **state)
{
    /* 65536 with its beginning, in columns */
    const size_t most = 65536 - 12 - strlen("preinstall = a==1 --hash=sha256:");
    fault_t fault;

    assert_string_equal(load_line(state, 19000, &fault), "");
    /* Too long for a requirement, and then for a line. */
    assert_null(strstr(load_line(state, most, &fault), "65536"));
    assert_non_null(strstr(load_line(state, most + 1, &fault),
                           "hearth.cfg:4: longer than 65536 bytes"));
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
    cleanup_free char *path =
        options_folder_write(*state, "[sessions]\n"
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
        options_folder_write(*state, "gateway\n    log_level = debug\n");

    setenv("HEARTH_STATE_DIR", "/var/a", 1);
    options_read(options, path, report);
    unsetenv("HEARTH_STATE_DIR");
    assert_non_null(strstr(config_report_place(report, "gateway/log_level"),
                           "hearth.cfg:2"));
    assert_string_equal(config_report_place(report, "gateway/state_dir"),
                        "$HEARTH_STATE_DIR");
    assert_null(config_report_place(report, "gateway/ip"));
}

static void an_empty_file_is_fine(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_free char *path = options_folder_write(*state, "");
    fault_t fault = {0};

    if (options_load(options, path, &fault) < 0)
        fail_msg("%s", fault.text);
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, options_folder_make,                 \
                                    options_folder_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(reads_a_file),
        with_folder(a_list_is_replaced_when_read_again),
        with_folder(has_every_default),
        with_folder(wrong_files_say_where),
        with_folder(a_line_has_room_for_hashes),
        with_folder(all_errors_are_reported_at_once),
        with_folder(knows_where_values_come_from),
        with_folder(an_empty_file_is_fine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
