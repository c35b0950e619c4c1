/* The configuration read again: what the running gateway takes, what needs a
 * restart, and copies of the options. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/config_reload.h"
#include "gateway/config/options_copy.h"
#include "tests/lib/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRESH_FILE                                                             \
    "gateway\n    log_level = debug\n"                                         \
    "sessions\n    mask = sk-*\n    allow_env = ONE, TWO\n"                    \
    "http\n    allow_methods = GET\n    queue_max = 8M\n"                      \
    "profile\n"                                                                \
    "    python3\n        preload = \"\"\n"                                    \
    "    small\n        limits\n            memory = 128M\n"

typedef struct {
    char *folder;       /* owned */
    char *file;         /* owned; its hearth.cfg */
    options_t *options; /* owned; of a gateway that runs */
} ground_t;

static void write_file(const ground_t *ground, const char *text)
{
    fault_t fault;

    if (file_write_atomic(ground->file, 0600, text, strlen(text), &fault) < 0)
        fail_msg("%s", fault.text);
}

static int set_up(void **state)
{
    ground_t *ground = mem_new(sizeof *ground);

    ground->folder = temporary_folder("reload");
    if (!ground->folder)
        return -1;
    ground->file = mem_format("%s/hearth.cfg", ground->folder);
    ground->options = options_new();
    *state = ground;
    return 0;
}

static int tear_down(void **state)
{
    ground_t *ground = *state;
    fault_t fault;
    int r = path_remove_tree(ground->folder, &fault);

    options_destroy(&ground->options);
    free(ground->file);
    free(ground->folder);
    free(ground);
    return r;
}

static config_reload_t *begin(ground_t *ground, const char *text)
{
    fault_t fault;

    write_file(ground, text);
    if (options_load(ground->options, ground->file, &fault) < 0)
        fail_msg("%s", fault.text);
    return config_reload_new(ground->options);
}

/* Reads the new text; the result has {"changed": ["key=value"], ...}. */
static void expect(ground_t *ground, config_reload_t *reload, const char *text,
                   const char *changed, const char *restart)
{
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_buffer buffer_t keys = BUFFER_EMPTY, rest = BUFFER_EMPTY;
    json_auto_t *reply = NULL;
    const json_t *item;
    size_t i;

    write_file(ground, text);
    reply = config_reload_run(reload, report);
    if (!reply)
        fail_msg("it was refused");
    json_array_foreach(json_object_get(reply, "changed"), i, item)
        buffer_format(&keys, "%s=%s ",
                      json_string_value(json_object_get(item, "key")),
                      json_string_value(json_object_get(item, "to")));
    json_array_foreach(json_object_get(reply, "restart"), i, item)
        buffer_format(&rest, "%s ", json_string_value(item));
    buffer_append(&keys, "", 1);
    buffer_append(&rest, "", 1);
    assert_string_equal((const char *) keys.data, changed);
    assert_string_equal((const char *) rest.data, restart);
}

static void limits_and_figures_of_http_are_taken(void **state)
{
    ground_t *ground = *state;
    cleanup_config_reload config_reload_t *reload = begin(ground, "");

    expect(ground, reload,
           "http\n    queue_max = 8M\n    body_max = 1M\n"
           "    list_kernels = no\n"
           "mcp\n    block = 9s\n"
           "profile\n    python3\n        limits\n"
           "            processes = 99\n            memory = 1G\n",
           "http/list_kernels=no http/body_max=1M http/queue_max=8M "
           "mcp/block=9s profile/python3/limits/memory=1G "
           "profile/python3/limits/processes=99 ",
           "");
    assert_int_equal(ground->options->profiles[0]->limits.processes, 99);
    assert_int_equal(ground->options->http.queue_max, 8 << 20);
    assert_int_equal(ground->options->http.list_kernels, 0);
}

static void sockets_and_zygotes_need_a_restart(void **state)
{
    ground_t *ground = *state;
    cleanup_config_reload config_reload_t *reload = begin(ground, "");

    expect(ground, reload,
           "http\n    port = 99\n    header_max = 8K\n    token = new\n"
           "profile\n    python3\n        preload = json\n",
           "", "http/port http/token http/header_max profile/python3/preload ");
    assert_int_equal(ground->options->http.port, 8888);
    assert_null(ground->options->http.token);
}

/* A text has no value in the file any more: it has none then. */
static void a_value_can_be_taken_away(void **state)
{
    ground_t *ground = *state;
    cleanup_config_reload config_reload_t *reload =
        begin(ground, "http\n    allow_methods = GET\n    allow_origin = *\n");

    assert_string_equal(ground->options->http.allow_methods, "GET");
    expect(ground, reload, "", "http/allow_origin= http/allow_methods= ", "");
    assert_null(ground->options->http.allow_methods);
    assert_null(*ground->options->http.allow_origin);
}

static void a_refused_file_changes_nothing(void **state)
{
    ground_t *ground = *state;
    cleanup_config_reload config_reload_t *reload = begin(ground, "");
    cleanup_config_report config_report_t *report = config_report_new();

    write_file(ground, "http\n    queue_max = 8M\n    body_max = much\n");
    assert_null(config_reload_run(reload, report));
    assert_int_equal(ground->options->http.queue_max, 4 << 20);
}

/* The file does not name it, so that its check does not see it. */
static void a_certificate_of_the_command_line_is_checked(void **state)
{
    ground_t *ground = *state;
    cleanup_config_reload config_reload_t *reload = NULL;
    cleanup_config_report config_report_t *report = config_report_new();
    bool is_error;

    write_file(ground, "");
    ground->options->file = mem_text(ground->file);
    ground->options->http.certificate = mem_text("/there/is/none.pem");
    ground->options->http.key = mem_text("/there/is/none.key");
    reload = config_reload_new(ground->options);
    write_file(ground, "http\n    queue_max = 8M\n");
    assert_null(config_reload_run(reload, report));
    assert_string_equal(config_report_at(report, 0, &is_error),
                        "http/certificate = \"/there/is/none.pem\": there is "
                        "no such file");
    assert_int_equal(ground->options->http.queue_max, 4 << 20);
}

/* Each key has the same text in both, and nothing is shared. */
static void a_copy_has_every_value(void **state)
{
    ground_t *ground = *state;
    fault_t fault;

    write_file(ground, FRESH_FILE);
    assert_int_equal(options_load(ground->options, ground->file, &fault), 0);
    assert_int_equal(options_prefer(ground->options, "small", &fault), 0);
    cleanup_options options_t *copy = options_copy(ground->options);
    options_item_t one, other;

    assert_int_equal(copy->profile_count, 2);
    for (size_t i = 0; options_item(ground->options, i, &one); i++) {
        assert_true(options_item(copy, i, &other));
        assert_string_equal(one.key, other.key);
        cleanup_free char *first = option_value_write(one.row, one.base);
        cleanup_free char *second = option_value_write(other.row, other.base);
        assert_string_equal(first, second);
    }
    assert_ptr_not_equal(copy->mask, ground->options->mask);
    assert_string_equal(copy->environment.allow[1], "TWO");
    assert_null(*copy->profiles[1]->preload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(limits_and_figures_of_http_are_taken,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(sockets_and_zygotes_need_a_restart,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_value_can_be_taken_away, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_refused_file_changes_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_certificate_of_the_command_line_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_copy_has_every_value, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
