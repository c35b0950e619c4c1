/* Documents from a journal: cells, outputs, what is missing. */
#include "tests/lib/export_steps.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/recording/export.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Closes the journal and gives its notebook. */
static json_t *export(journal_t *journal, const char *folder)
{
    cleanup_free char *path = mem_format("%s/journal", folder);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault = {0};

    journal_destroy(&journal);
    if (export_steps_text(path, EXPORT_IPYNB, &out, &fault) < 0)
        fail_msg("%s", fault.text);
    json_t *notebook = json_loadb((char *) out.data, out.size, 0, NULL);
    assert_non_null(notebook);
    return notebook;
}

static json_t *cell_at(json_t *notebook, size_t index)
{
    return json_array_get(json_object_get(notebook, "cells"), index);
}

static json_t *output_at(json_t *notebook, size_t cell, size_t index)
{
    return json_array_get(json_object_get(cell_at(notebook, cell), "outputs"),
                          index);
}

static size_t output_count(json_t *notebook, size_t cell)
{
    return json_array_size(json_object_get(cell_at(notebook, cell), "outputs"));
}

/* A list of lines as one text; to be freed. */
static char *joined(const json_t *lines)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    size_t index;
    json_t *line;

    buffer_text(&text, "");
    json_array_foreach(lines, index, line)
        buffer_text(&text, json_string_value(line));
    return mem_copy(text.data ? (char *) text.data : "", text.size);
}

static void assert_text(const json_t *lines, const char *expected)
{
    cleanup_free char *text = joined(lines);
    assert_string_equal(text, expected);
}

static void cells_have_their_outputs(void **state)
{
    journal_t *journal = export_steps_open(*state);

    export_steps_append(
        journal, JOURNAL_STATE, 0, "ready",
        "{\"language_info\":{\"name\":\"python\",\"version\":\"3.11.2\"}}", "");
    export_steps_ask(journal, 1, "{\"code\":\"print(1)\\nx\"}");
    export_steps_say(journal, 1, "stream",
                     "{\"name\":\"stdout\",\"text\":\"a\\n\"}");
    export_steps_say(journal, 1, "stream",
                     "{\"name\":\"stdout\",\"text\":\"b\\n\"}");
    export_steps_say(journal, 1, "stream",
                     "{\"name\":\"stderr\",\"text\":\"c\"}");
    export_steps_say(
        journal, 1, "execute_result",
        "{\"execution_count\":1,\"data\":{\"text/plain\":\"2\\n3\"},"
        "\"metadata\":{}}");
    export_steps_answer(journal, 1,
                        "{\"status\":\"ok\",\"execution_count\":1}");
    export_steps_ask(journal, 2, "{\"code\":\"1/0\"}");
    export_steps_say(
        journal, 2, "error",
        "{\"ename\":\"ZeroDivisionError\",\"evalue\":\"division by zero\","
        "\"traceback\":[\"one\",\"two\"]}");
    export_steps_answer(journal, 2,
                        "{\"status\":\"error\",\"execution_count\":2}");
    export_steps_ask(journal, 3, "{\"code\":\"x\",\"silent\":true}");
    export_steps_ask(journal, 4, "{\"code\":\"\"}");
    json_auto_t *notebook = export(journal, *state);

    assert_int_equal(json_array_size(json_object_get(notebook, "cells")), 3);
    assert_text(json_object_get(cell_at(notebook, 0), "source"), "print(1)\nx");
    assert_int_equal(output_count(notebook, 0), 3);
    assert_text(json_object_get(output_at(notebook, 0, 0), "text"), "a\nb\n");
    assert_text(json_object_get(output_at(notebook, 0, 1), "text"), "c");
    json_t *data = json_object_get(output_at(notebook, 0, 2), "data");
    assert_text(json_object_get(data, "text/plain"), "2\n3");
    assert_string_equal(
        json_string_value(json_object_get(output_at(notebook, 1, 0), "ename")),
        "ZeroDivisionError");
    assert_int_equal(json_integer_value(json_object_get(cell_at(notebook, 1),
                                                        "execution_count")),
                     2);
    json_t *timing = json_object_get(
        json_object_get(cell_at(notebook, 0), "metadata"), "execution");
    assert_string_equal(
        json_string_value(json_object_get(timing, "iopub.execute_input")),
        "2026-01-02T03:04:05.500000Z");
    assert_string_equal(
        json_string_value(json_object_get(timing, "shell.execute_reply")),
        "2026-01-02T03:04:11.000000Z");
    assert_true(
        json_is_null(json_object_get(cell_at(notebook, 2), "execution_count")));
}

static void outputs_are_cleared_and_updated(void **state)
{
    static const char display[] =
        "{\"data\":{\"text/plain\":\"%s\"},\"metadata\":{},"
        "\"transient\":{\"display_id\":\"d\"}}";
    cleanup_free char *before = mem_format(display, "before");
    cleanup_free char *after = mem_format(display, "after");
    journal_t *journal = export_steps_open(*state);

    export_steps_ask(journal, 1, "{\"code\":\"a\"}");
    export_steps_say(journal, 1, "stream",
                     "{\"name\":\"stdout\",\"text\":\"old\"}");
    export_steps_say(journal, 1, "clear_output", "{\"wait\":false}");
    export_steps_say(journal, 1, "display_data", before);
    export_steps_ask(journal, 2, "{\"code\":\"b\"}");
    export_steps_say(journal, 2, "display_data", before);
    export_steps_say(journal, 2, "clear_output", "{\"wait\":true}");
    export_steps_say(journal, 2, "stream",
                     "{\"name\":\"stdout\",\"text\":\"new\"}");
    export_steps_say(journal, 2, "clear_output", "{\"wait\":true}");
    export_steps_say(journal, 2, "update_display_data", after);
    json_auto_t *notebook = export(journal, *state);

    assert_int_equal(output_count(notebook, 0), 1);
    json_t *data = json_object_get(output_at(notebook, 0, 0), "data");
    assert_text(json_object_get(data, "text/plain"), "after");
    assert_int_equal(output_count(notebook, 1), 1);
    assert_text(json_object_get(output_at(notebook, 1, 0), "text"), "new");
}

static void a_gap_is_shown_in_its_cell(void **state)
{
    journal_t *journal = export_steps_open(*state);

    export_steps_append(journal, JOURNAL_GAP, 0, "gap",
                        "{\"records\":7,\"bytes\":1000}", "");
    export_steps_ask(journal, 5, "{\"code\":\"a\"}");
    export_steps_append(journal, JOURNAL_GAP, 5, "gap",
                        "{\"records\":2,\"bytes\":100}", "");
    json_auto_t *notebook = export(journal, *state);

    assert_string_equal(
        json_string_value(json_object_get(cell_at(notebook, 0), "cell_type")),
        "markdown");
    json_t *data = json_object_get(output_at(notebook, 1, 0), "data");
    assert_text(json_object_get(data, "text/plain"),
                "[2 outputs (100 bytes) were given up to keep the journal "
                "within its bound]");
}

/* A journal with everything that a kernel may say wrongly, and rightly. */
static void nbformat_finds_nothing_to_change(void **state)
{
    static const char check[] =
        "import json, sys, warnings\n"
        "try:\n"
        "    import nbformat\n"
        "except ImportError:\n"
        "    sys.exit(77)\n"
        "warnings.simplefilter('error')\n"
        "with open(sys.argv[1], encoding='utf-8') as file:\n"
        "    text = file.read()\n"
        "notebook = nbformat.reads(text, as_version=4)\n"
        "nbformat.validate(notebook)\n"
        "ids = [cell.id for cell in notebook.cells]\n"
        "assert len(ids) == len(set(ids)), ids\n"
        "again = nbformat.writes(notebook)\n"
        "assert json.loads(again) == json.loads(text)\n";
    cleanup_free char *journal_path = mem_format("%s/journal", (char *) *state);
    cleanup_free char *path = mem_format("%s/a.ipynb", (char *) *state);
    journal_t *journal = export_steps_open(*state);
    recording_options_t options = {0};
    fault_t fault = {0};

    export_steps_oddities(journal);
    journal_destroy(&journal);
    if (export_save(journal_path, &options, EXPORT_IPYNB, path, &fault) < 0)
        fail_msg("%s", fault.text);
    int status = recorded_run_python(check, path);
    if (status == 77) {
        print_message("nbformat cannot be imported\n");
        skip();
    }
    assert_int_equal(status, 0);
}

/* Each line after an opening bracket has one blank more than the bracket's. */
static void assert_indented(const char *text)
{
    size_t before = 0;
    bool has_opened = false;

    while (*text) {
        size_t blanks = strspn(text, " "), size = strcspn(text, "\n");

        if (has_opened)
            assert_int_equal(blanks, before + 1);
        before = blanks;
        has_opened =
            size > 0 && (text[size - 1] == '[' || text[size - 1] == '{');
        text += size + (text[size] == '\n');
    }
}

static void deep_values_are_indented(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    buffer_text(&content, "{\"metadata\":{},\"data\":{\"application/json\":");
    for (int i = 0; i < 40; i++)
        buffer_text(&content, "[");
    buffer_text(&content, "5");
    for (int i = 0; i < 40; i++)
        buffer_text(&content, "]");
    buffer_text(&content, "}}");
    export_steps_ask(journal, 1, "{\"code\":\"x\"}");
    export_steps_say(journal, 1, "display_data", (const char *) content.data);
    export_steps_answer(journal, 1, "{\"status\":\"ok\"}");
    journal_destroy(&journal);
    assert_int_equal(export_steps_text(path, EXPORT_IPYNB, &out, &fault), 0);
    assert_non_null(strstr((char *) out.data, " 5\n"));
    assert_indented((char *) out.data);
}

/* Whatever a kernel says, what is written whole is read again as recorded. */
static void a_notebook_written_whole_is_read_again(void **state)
{
    static const char *const said[][2] = {
        {"stream", "{\"name\":\"stdout\",\"text\":\"a\\nb\\n\"}"},
        {"stream", "{\"name\":5,\"text\":[\"a\",7]}"},
        {"stream", "{}"},
        {"display_data", "{\"data\":{\"text/plain\":5,\"text/html\":{\"a\":[]}}"
                         ",\"metadata\":7}"},
        {"display_data", "{\"data\":{\"application/json\":[\"a\\n\",\"b\"]},"
                         "\"metadata\":{}}"},
        {"display_data", "{\"data\":[]}"},
        {"execute_result", "{\"execution_count\":\"x\",\"data\":{}}"},
        {"error", "{\"ename\":5,\"evalue\":[],\"traceback\":[\"a\",5]}"},
        {"error", "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":{}}"},
    };
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    journal_t *journal = export_steps_open(*state);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_notebook notebook_t recorded = {0};
    cleanup_notebook notebook_t again = {0};
    recording_options_t options = {.session = "5e55"};
    fault_t fault = {0};

    export_steps_ask(journal, 1, "{\"code\":\"x\\ny\"}");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        export_steps_say(journal, 1, said[i][0], said[i][1]);
    export_steps_answer(journal, 1,
                        "{\"status\":\"ok\",\"execution_count\":1}");
    export_steps_ask(journal, 2, "{\"code\":\"\"}");
    export_steps_answer(journal, 2,
                        "{\"status\":\"error\",\"execution_count\":-1}");
    journal_destroy(&journal);
    assert_int_equal(recording_notebook(path, &options, &recorded, &fault), 0);
    assert_int_equal(export_steps_text(path, EXPORT_WHOLE, &out, &fault), 0);
    if (notebook_parse((char *) out.data, out.size, "w", &again, &fault) < 0)
        fail_msg("%s", fault.text);
    assert_int_equal(again.count, 2);
    assert_int_equal(recorded.count, 2);
    for (size_t i = 0; i < 2; i++) {
        json_auto_t *left = notebook_cell_json(&recorded.cells[i]);
        json_auto_t *right = notebook_cell_json(&again.cells[i]);
        assert_true(json_equal(left, right));
    }
    cleanup_free char *x = json_dumps(recorded.metadata, JSON_SORT_KEYS);
    cleanup_free char *y = json_dumps(again.metadata, JSON_SORT_KEYS);
    assert_string_equal(x, y);
}

/* More than a notebook can hold: the rest is counted, and its place is named.
 */
static void outputs_of_hostile_sizes_are_cut(void **state)
{
    const size_t size = (size_t) 3 << 20;
    journal_t *journal = export_steps_open(*state);
    cleanup_free char *line = mem_new(size + 1);
    cleanup_free char *content = NULL;

    memset(line, 'x', size);
    content = mem_format("{\"name\":\"stdout\",\"text\":\"%s\"}", line);
    export_steps_ask(journal, 1, "{\"code\":\"x\"}");
    for (int i = 0; i < 25; i++)
        export_steps_say(journal, 1, "stream", content);
    export_steps_answer(journal, 1,
                        "{\"status\":\"ok\",\"execution_count\":1}");
    json_auto_t *notebook = export(journal, *state);
    json_t *cut = json_object_get(
        json_object_get(json_object_get(cell_at(notebook, 0), "metadata"),
                        "hearth"),
        "cut");
    /* 21 of them make 63 MiB. */
    assert_int_equal(json_integer_value(json_object_get(cut, "records")), 4);
    assert_int_equal(json_integer_value(json_object_get(cut, "seq")), 23);
    assert_int_equal(output_count(notebook, 0), 2);
    cleanup_free char *text =
        joined(json_object_get(output_at(notebook, 0, 0), "text"));
    assert_int_equal(strlen(text), 21 * size);
}

static void only_known_endings_name_a_format(void **state)
{
    export_format_t format = EXPORT_JSONL;

    (void) state;
    assert_true(export_format("run.d/a.ipynb", &format));
    assert_int_equal(format, EXPORT_IPYNB);
    assert_true(export_format("md", &format));
    assert_int_equal(format, EXPORT_MARKDOWN);
    assert_false(export_format("run.pdf", &format));
    assert_false(export_format("./run.md/out", &format));
    assert_false(export_format("page", &format));
    assert_int_equal(format, EXPORT_MARKDOWN);
}

static void a_folder_that_is_missing_is_named(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_free char *folder = mem_format("%s/none", (char *) *state);
    cleanup_free char *file = mem_format("%s/x.ipynb", folder);
    recording_options_t options = {0};
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    journal_destroy(&journal);
    assert_int_equal(export_save(path, &options, EXPORT_IPYNB, file, &fault),
                     -ENOENT);
    cleanup_free char *expected =
        mem_format("cannot write %s: there is no folder %s", file, folder);
    assert_string_equal(fault.text, expected);
}

static void a_damaged_journal_yields_the_records_before_the_damage(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_free char *file = mem_format("%s/journal-000001.log", path);
    cleanup_buffer buffer_t log = BUFFER_EMPTY;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    export_steps_ask(journal, 1, "{\"code\":\"first\"}");
    export_steps_ask(journal, 2, "{\"code\":\"second\"}");
    journal_destroy(&journal);
    assert_int_equal(file_read(file, 1 << 20, &log, &fault), 0);
    log.data[log.size - 1] ^= 1;
    assert_int_equal(file_write_atomic(file, 0600, log.data, log.size, &fault),
                     0);
    assert_int_equal(export_steps_text(path, EXPORT_IPYNB, &out, &fault),
                     -EBADMSG);
    assert_non_null(strstr((char *) out.data, "first"));
    assert_null(strstr((char *) out.data, "second"));
}

static void a_missing_journal_is_a_fault(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    fault_t fault = {0};

    assert_int_equal(export_steps_text(path, EXPORT_IPYNB, &out, &fault),
                     -ENOENT);
    assert_non_null(strstr(fault.text, path));
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, recorded_make_folder,                \
                                    recorded_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(cells_have_their_outputs),
        with_folder(outputs_are_cleared_and_updated),
        with_folder(a_gap_is_shown_in_its_cell),
        with_folder(nbformat_finds_nothing_to_change),
        with_folder(deep_values_are_indented),
        with_folder(a_notebook_written_whole_is_read_again),
        with_folder(outputs_of_hostile_sizes_are_cut),
        cmocka_unit_test(only_known_endings_name_a_format),
        with_folder(a_folder_that_is_missing_is_named),
        with_folder(a_damaged_journal_yields_the_records_before_the_damage),
        with_folder(a_missing_journal_is_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
