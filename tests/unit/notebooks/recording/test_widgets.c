/* The state of widgets, added up from their comms. */
#include "tests/lib/recorded.h"

#include "base/buffer.h"
#include "notebooks/recording/recording.h"
#include "notebooks/recording/widgets.h"

#include <string.h>

#define OPEN(state, paths)                                                     \
    "{\"comm_id\":\"w\",\"target_name\":\"jupyter.widget\",\"data\":{"         \
    "\"state\":" state ",\"buffer_paths\":" paths "}}"
#define MESSAGE(method, state, paths)                                          \
    "{\"comm_id\":\"w\",\"data\":{\"method\":\"" method "\",\"state\":" state  \
    ",\"buffer_paths\":" paths "}}"
#define CLOSE "{\"comm_id\":\"w\",\"data\":{}}"

static void add(widgets_t *widgets, const char *type, const char *content,
                const char *buffer)
{
    bytes_t part = {buffer, buffer ? strlen(buffer) : 0};
    journal_record_t record = {.kind = JOURNAL_EVENT,
                               .content = {content, strlen(content)},
                               .buffers = &part,
                               .buffer_count = buffer != NULL};
    json_auto_t *parsed = json_loads(content, 0, NULL);

    assert_non_null(parsed);
    snprintf(record.type, sizeof record.type, "%s", type);
    assert_true(widgets_wants(&record));
    widgets_add(widgets, &record, parsed);
}

/* The models, as compact JSON with sorted keys. */
static void assert_models(const widgets_t *widgets, const char *expected)
{
    cleanup_free char *text =
        json_dumps(widgets->models, JSON_COMPACT | JSON_SORT_KEYS);

    assert_string_equal(text, expected);
}

static void updates_add_up(void **state)
{
    cleanup_widgets widgets_t widgets = {0};

    (void) state;
    assert_null(widgets_json(&widgets));
    add(&widgets, "comm_open",
        OPEN("{\"_model_name\":\"M\",\"_model_module\":\"m\",\"v\":1,\"w\":2}",
             "[]"),
        NULL);
    add(&widgets, "comm_msg", MESSAGE("update", "{\"v\":5}", "[]"), NULL);
    add(&widgets, "comm_msg", MESSAGE("echo_update", "{\"w\":6}", "[]"), NULL);
    add(&widgets, "comm_msg", MESSAGE("custom", "{\"w\":7}", "[]"), NULL);
    assert_models(&widgets,
                  "{\"w\":{\"model_module\":\"m\",\"model_module_version\":"
                  "\"\",\"model_name\":\"M\",\"state\":{\"_model_module\":"
                  "\"m\",\"_model_name\":\"M\",\"v\":5,\"w\":6}}}");
    add(&widgets, "comm_close", CLOSE, NULL);
    assert_null(widgets_json(&widgets));
    assert_int_equal(widgets.bytes, 0);
    add(&widgets, "comm_msg", MESSAGE("update", "{\"v\":5}", "[]"), NULL);
    assert_null(widgets_json(&widgets));
}

static void a_binary_part_replaces_the_one_before(void **state)
{
    cleanup_widgets widgets_t widgets = {0};
    const json_t *buffers;

    (void) state;
    add(&widgets, "comm_open", OPEN("{\"a\":{}}", "[[\"a\",\"x\"]]"), "one");
    add(&widgets, "comm_msg", MESSAGE("update", "{}", "[[\"value\"]]"), "two");
    add(&widgets, "comm_msg", MESSAGE("update", "{}", "[[\"value\"]]"), "2nd");
    buffers = json_object_get(json_object_get(widgets.models, "w"), "buffers");
    assert_int_equal(json_array_size(buffers), 2);
    cleanup_free char *text =
        json_dumps(buffers, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text,
        "[{\"data\":\"b25l\",\"encoding\":\"base64\",\"path\":[\"a\",\"x\"]},"
        "{\"data\":\"Mm5k\",\"encoding\":\"base64\",\"path\":[\"value\"]}]");
    /* A new value of `a` has no binary part. */
    add(&widgets, "comm_msg", MESSAGE("update", "{\"a\":1}", "[]"), NULL);
    assert_int_equal(json_array_size(buffers), 1);
}

static void other_messages_are_left_unchanged(void **state)
{
    static const char *const contents[] = {
        "{}",
        "[]",
        "{\"comm_id\":\"w\",\"target_name\":\"other\",\"data\":{\"state\":{}}}",
        "{\"comm_id\":1,\"target_name\":\"jupyter.widget\"}",
        "{\"comm_id\":\"\",\"target_name\":\"jupyter.widget\"}",
    };
    cleanup_widgets widgets_t widgets = {0};

    (void) state;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        add(&widgets, "comm_open", contents[i], NULL);
        add(&widgets, "comm_msg", contents[i], NULL);
        add(&widgets, "comm_close", contents[i], "buffer");
    }
    assert_null(widgets_json(&widgets));
    add(&widgets, "comm_open",
        "{\"comm_id\":\"w\",\"target_name\":\"jupyter.widget\",\"data\":[]}",
        NULL);
    add(&widgets, "comm_msg", MESSAGE("update", "3", "{}"), "more");
    assert_models(&widgets,
                  "{\"w\":{\"model_module\":\"\",\"model_module_"
                  "version\":\"\",\"model_name\":\"\",\"state\":{}}}");
}

/* Many updates in each other's place need no more room than one. */
static void the_bound_counts_kept_bytes(void **state)
{
    cleanup_widgets widgets_t widgets = {.bytes_max = 100};

    (void) state;
    add(&widgets, "comm_open", OPEN("{\"v\":\"0123456789\"}", "[]"), NULL);
    for (int i = 0; i < 1000; i++) {
        add(&widgets, "comm_msg",
            MESSAGE("update", "{\"v\":\"9876543210\"}", "[]"), NULL);
        add(&widgets, "comm_msg", MESSAGE("update", "{}", "[[\"b\"]]"),
            "0123456789");
    }
    assert_false(widgets.is_cut);
    assert_true(widgets.bytes <= 100);
    cleanup_free char *large =
        mem_format(MESSAGE("update", "{\"v\":\"%0200d\"}", "[]"), 7);
    add(&widgets, "comm_msg", large, NULL);
    assert_true(widgets.is_cut);
    assert_string_equal(
        json_string_value(json_object_get(
            json_object_get(json_object_get(widgets.models, "w"), "state"),
            "v")),
        "9876543210");
}

static void widgets_are_redacted_in_a_notebook(void **state)
{
    journal_t *journal = recordings_open(*state);
    cleanup_notebook notebook_t notebook = {0};
    cleanup_redact redact_t *mask = NULL;
    fault_t fault = {0};

    recorded_append(journal, JOURNAL_REQUEST, 1, "execute_request",
                    "{\"code\":\"x\"}");
    recorded_append(journal, JOURNAL_EVENT, 1, "comm_open",
                    OPEN("{\"v\":\"my secret\"}", "[]"));
    journal_destroy(&journal);
    assert_int_equal(redact_new("secret", &mask, &fault), 0);
    recording_options_t options = {.mask = mask};
    assert_int_equal(recording_notebook(*state, &options, &notebook, &fault),
                     0);
    json_t *widgets =
        json_object_get(json_object_get(notebook.metadata, "widgets"),
                        "application/vnd.jupyter.widget-state+json");
    assert_int_equal(
        json_integer_value(json_object_get(widgets, "version_major")), 2);
    assert_string_equal(
        json_string_value(json_object_get(
            json_object_get(
                json_object_get(json_object_get(widgets, "state"), "w"),
                "state"),
            "v")),
        "my [masked]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_add_up),
        cmocka_unit_test(a_binary_part_replaces_the_one_before),
        cmocka_unit_test(other_messages_are_left_unchanged),
        cmocka_unit_test(the_bound_counts_kept_bytes),
        cmocka_unit_test_setup_teardown(widgets_are_redacted_in_a_notebook,
                                        recorded_make_folder,
                                        recorded_remove_folder),
    };

    return cmocka_run_group_tests_name("widgets", tests, NULL, NULL);
}
