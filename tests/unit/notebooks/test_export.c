/* Documents from a journal: cells, outputs, what is missing. */
#include "tests/lib/recorded.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/recording/export.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static journal_t *open_journal(const char *folder)
{
    cleanup_free char *path = mem_format("%s/journal", folder);

    return recordings_open(path);
}

static void append(journal_t *journal, journal_kind_t kind, uint64_t request,
                   const char *type, const char *content, const char *metadata)
{
    journal_record_t record = {.kind = kind,
                               .request = request,
                               .content = {content, strlen(content)},
                               .metadata = {metadata, strlen(metadata)}};

    recorded_append_record(journal, &record, type);
}

static void ask(journal_t *journal, uint64_t request, const char *content)
{
    append(journal, JOURNAL_REQUEST, request, "execute_request", content, "");
}

static void say(journal_t *journal, uint64_t request, const char *type,
                const char *content)
{
    append(journal, JOURNAL_EVENT, request, type, content, "");
}

static void answer(journal_t *journal, uint64_t request, const char *content)
{
    append(journal, JOURNAL_REPLY, request, "execute_reply", content,
           "{\"started\":\"2026-01-02T03:04:05.500000Z\"}");
}

/* The document in memory. */
static int export_text(const char *path, export_format_t format, buffer_t *out,
                       fault_t *fault)
{
    recording_options_t options = {.session = "5e55"};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    int r = export_write(path, &options, format, file, fault);
    fclose(file);
    buffer_append(out, text, size);
    buffer_append(out, "", 1);
    out->size--;
    free(text);
    return r;
}

/* Closes the journal and gives its notebook. */
static json_t *export(journal_t *journal, const char *folder)
{
    cleanup_free char *path = mem_format("%s/journal", folder);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault = {0};

    journal_destroy(&journal);
    if (export_text(path, EXPORT_IPYNB, &out, &fault) < 0)
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
    journal_t *journal = open_journal(*state);

    append(journal, JOURNAL_STATE, 0, "ready",
           "{\"language_info\":{\"name\":\"python\",\"version\":\"3.11.2\"}}",
           "");
    ask(journal, 1, "{\"code\":\"print(1)\\nx\"}");
    say(journal, 1, "stream", "{\"name\":\"stdout\",\"text\":\"a\\n\"}");
    say(journal, 1, "stream", "{\"name\":\"stdout\",\"text\":\"b\\n\"}");
    say(journal, 1, "stream", "{\"name\":\"stderr\",\"text\":\"c\"}");
    say(journal, 1, "execute_result",
        "{\"execution_count\":1,\"data\":{\"text/plain\":\"2\\n3\"},"
        "\"metadata\":{}}");
    answer(journal, 1, "{\"status\":\"ok\",\"execution_count\":1}");
    ask(journal, 2, "{\"code\":\"1/0\"}");
    say(journal, 2, "error",
        "{\"ename\":\"ZeroDivisionError\",\"evalue\":\"division by zero\","
        "\"traceback\":[\"one\",\"two\"]}");
    answer(journal, 2, "{\"status\":\"error\",\"execution_count\":2}");
    ask(journal, 3, "{\"code\":\"x\",\"silent\":true}");
    ask(journal, 4, "{\"code\":\"\"}");
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
    journal_t *journal = open_journal(*state);

    ask(journal, 1, "{\"code\":\"a\"}");
    say(journal, 1, "stream", "{\"name\":\"stdout\",\"text\":\"old\"}");
    say(journal, 1, "clear_output", "{\"wait\":false}");
    say(journal, 1, "display_data", before);
    ask(journal, 2, "{\"code\":\"b\"}");
    say(journal, 2, "display_data", before);
    say(journal, 2, "clear_output", "{\"wait\":true}");
    say(journal, 2, "stream", "{\"name\":\"stdout\",\"text\":\"new\"}");
    say(journal, 2, "clear_output", "{\"wait\":true}");
    say(journal, 2, "update_display_data", after);
    json_auto_t *notebook = export(journal, *state);

    assert_int_equal(output_count(notebook, 0), 1);
    json_t *data = json_object_get(output_at(notebook, 0, 0), "data");
    assert_text(json_object_get(data, "text/plain"), "after");
    assert_int_equal(output_count(notebook, 1), 1);
    assert_text(json_object_get(output_at(notebook, 1, 0), "text"), "new");
}

static void a_gap_is_shown_in_its_cell(void **state)
{
    journal_t *journal = open_journal(*state);

    append(journal, JOURNAL_GAP, 0, "gap", "{\"records\":7,\"bytes\":1000}",
           "");
    ask(journal, 5, "{\"code\":\"a\"}");
    append(journal, JOURNAL_GAP, 5, "gap", "{\"records\":2,\"bytes\":100}", "");
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
static void append_oddities(journal_t *journal)
{
    static const char *const contents[] = {
        "{}",
        "[]",
        "{\"name\":5,\"text\":{}}",
        "{\"name\":\"stdout\",\"text\":[]}",
        "{\"name\":\"stdout\",\"text\":\"\\u0000 \\u00e4 \\ud83d\\ude00\"}",
        "{\"data\":5,\"metadata\":[]}",
        "{\"data\":{\"text/plain\":5,\"image/png\":null,"
        "\"application/json\":[1,2.5,\"x\"],"
        "\"application/vnd.x+json\":{\"a\":123456789012345678901234567890}}}",
        "{\"data\":{\"image/png\":\"aGVsbG8=\\n\",\"text/html\":\"<b>\\n\"},"
        "\"metadata\":{\"image/png\":{\"width\":5}},"
        "\"execution_count\":\"one\",\"transient\":{\"display_id\":7}}",
        "{\"ename\":1,\"evalue\":null,\"traceback\":[1,\"a\",null]}",
        "{\"wait\":\"no\"}",
    };
    static const char *const types[] = {
        "stream",       "display_data",        "execute_result", "error",
        "clear_output", "update_display_data", "comm_msg",
    };

    append(journal, JOURNAL_STATE, 0, "ready", "{\"language_info\":5}", "");
    for (uint64_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        ask(journal, i + 2, "{\"code\":\"x = 1\\n\\nx\"}");
        for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
            say(journal, i + 2, types[t], contents[i]);
            if (strcmp(types[t], "error") == 0 && i != 9)
                say(journal, i + 2, "stream",
                    "{\"name\":\"stderr\",\"text\":\"1\\n2\\n\"}");
        }
        answer(journal, i + 2, contents[i]);
    }
    ask(journal, 100, "{\"code\":5}");
    say(journal, 100, "display_data",
        "{\"data\":{\"text/plain\":\"p\",\"image/png\":\"aGk=\","
        "\"application/json\":{\"b\":1,\"a\":[]}},"
        "\"metadata\":{\"image/png\":{\"width\":5}}}");
    append(journal, JOURNAL_GAP, 100, "gap", "{}", "");
    append(journal, JOURNAL_GAP, 0, "gap", "[]", "");
    append(journal, JOURNAL_STATE, 0, "gone", "{\"reason\":\"idle\"}", "");
}

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
    journal_t *journal = open_journal(*state);
    recording_options_t options = {0};
    fault_t fault = {0};

    append_oddities(journal);
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
    journal_t *journal = open_journal(*state);
    fault_t fault = {0};

    buffer_text(&content, "{\"metadata\":{},\"data\":{\"application/json\":");
    for (int i = 0; i < 40; i++)
        buffer_text(&content, "[");
    buffer_text(&content, "5");
    for (int i = 0; i < 40; i++)
        buffer_text(&content, "]");
    buffer_text(&content, "}}");
    ask(journal, 1, "{\"code\":\"x\"}");
    say(journal, 1, "display_data", (const char *) content.data);
    answer(journal, 1, "{\"status\":\"ok\"}");
    journal_destroy(&journal);
    assert_int_equal(export_text(path, EXPORT_IPYNB, &out, &fault), 0);
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
    journal_t *journal = open_journal(*state);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_notebook notebook_t recorded = {0};
    cleanup_notebook notebook_t again = {0};
    recording_options_t options = {.session = "5e55"};
    fault_t fault = {0};

    ask(journal, 1, "{\"code\":\"x\\ny\"}");
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        say(journal, 1, said[i][0], said[i][1]);
    answer(journal, 1, "{\"status\":\"ok\",\"execution_count\":1}");
    ask(journal, 2, "{\"code\":\"\"}");
    answer(journal, 2, "{\"status\":\"error\",\"execution_count\":-1}");
    journal_destroy(&journal);
    assert_int_equal(recording_notebook(path, &options, &recorded, &fault), 0);
    assert_int_equal(export_text(path, EXPORT_WHOLE, &out, &fault), 0);
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
    journal_t *journal = open_journal(*state);
    cleanup_free char *line = mem_new(size + 1);
    cleanup_free char *content = NULL;

    memset(line, 'x', size);
    content = mem_format("{\"name\":\"stdout\",\"text\":\"%s\"}", line);
    ask(journal, 1, "{\"code\":\"x\"}");
    for (int i = 0; i < 25; i++)
        say(journal, 1, "stream", content);
    answer(journal, 1, "{\"status\":\"ok\",\"execution_count\":1}");
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

static void markdown_cannot_be_left(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_t *journal = open_journal(*state);
    fault_t fault = {0};

    ask(journal, 1, "{\"code\":\"print('```')\"}");
    say(journal, 1, "stream",
        "{\"name\":\"stdout\",\"text\":\"\\u001b[31mred\\u001b[0m\\n"
        "```` \\u009b1m\\u001b]0;t\\u0007x\\n10%\\r100%\\r\\nend\\n"
        "3 MiB\\r     \\r\"}");
    say(journal, 1, "stream", "{\"name\":\"stderr\",\"text\":\"left\\r\"}");
    answer(journal, 1, "{\"status\":\"ok\",\"execution_count\":1}");
    append_oddities(journal);
    journal_destroy(&journal);
    assert_int_equal(export_text(path, EXPORT_MARKDOWN, &out, &fault), 0);
    const char *expected = "## [1] 2026-01-02 03:04:05 (3.000 s)\n\n"
                           "````python\nprint('```')\n````\n\n"
                           "`````text\nred\n```` 1mx\n100%\nend\n`````\n\n"
                           "```text\nleft\n```\n\n";
    if (strncmp((char *) out.data, expected, strlen(expected)) != 0)
        fail_msg("%s", (char *) out.data);
    for (size_t i = 0; i < out.size; i++)
        assert_true(out.data[i] >= ' ' || out.data[i] == '\n'
                    || out.data[i] == '\t');
    assert_non_null(strstr((char *) out.data, "*The session ended 2026-01-02"));
}

static void markdown_names_types_in_a_code_span(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_t *journal = open_journal(*state);
    fault_t fault = {0};

    ask(journal, 1, "{\"code\":\"x\"}");
    say(journal, 1, "display_data",
        "{\"data\":{\"text/plain\":\"x\","
        "\"image/png;<img src=x onerror=alert(1)>\":\"aGk=\"},"
        "\"metadata\":{}}");
    say(journal, 1, "display_data",
        "{\"data\":{\"image/`<b>\\n# x&amp;\":\"aGk=\"},\"metadata\":{}}");
    answer(journal, 1, "{\"status\":\"ok\",\"execution_count\":1}");
    journal_destroy(&journal);
    assert_int_equal(export_text(path, EXPORT_MARKDOWN, &out, &fault), 0);
    assert_non_null(
        strstr((char *) out.data, "\n`image/png`, 4 bytes encoded\n"));
    assert_non_null(
        strstr((char *) out.data, "\n`image/b# xamp`, 4 bytes encoded\n"));
    assert_null(strchr((char *) out.data, '<'));
}

/* Active content in all parts of HTML: none of it runs, whatever a template
 * does. */
static void a_page_has_no_active_content(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_t *journal = open_journal(*state);
    fault_t fault = {0};

    append(journal, JOURNAL_STATE, 0, "ready",
           "{\"language_info\":{\"name\":\"\\\"><evil>\"}}", "");
    ask(journal, 1, "{\"code\":\"x\"}");
    say(journal, 1, "display_data",
        "{\"data\":{\"text/vnd.mermaid\":\"evil\",\"text/plain\":\"good\","
        "\"application/javascript\":\"evil\","
        "\"text/html;x\":\"evil\","
        "\"application/vnd.jupyter.widget-view+json\":{\"evil\":1}},"
        "\"metadata\":{\"evil\":1}}");
    say(journal, 1, "execute_result",
        "{\"execution_count\":1,\"data\":{\"image/png\":\"aGk=\"},"
        "\"metadata\":{\"image/png\":{\"width\":\"1 onerror=evil\","
        "\"height\":7}}}");
    say(journal, 1, "stream", "{\"name\":\"stdout\",\"text\":\"printed\"}");
    answer(journal, 1, "{\"status\":\"ok\",\"execution_count\":1}");
    journal_destroy(&journal);
    assert_int_equal(export_text(path, EXPORT_PAGE, &out, &fault), 0);
    assert_null(strstr((char *) out.data, "evil"));
    assert_non_null(strstr((char *) out.data, "good</pre>"));
    assert_non_null(strstr((char *) out.data, "printed</pre>"));
    assert_non_null(strstr((char *) out.data,
                           "<img alt=\"picture\" height=\"7\" "
                           "src=\"data:image/png;base64,aGk=\">"));
}

static void what_came_from_outside_is_listed(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_buffer buffer_t text = BUFFER_EMPTY, page = BUFFER_EMPTY;
    journal_t *journal = open_journal(*state);
    fault_t fault = {0};

    append(journal, JOURNAL_STATE, 0, "note",
           "{\"text\":\"x\",\"call\":{\"name\":\"hearth:packages\",\"result\":"
           "{\"status\":\"ok\",\"packages\":[{\"name\":\"a\",\"version\":"
           "\"1\",\"sha256\":\"5e\"},{\"name\":\"b\",\"version\":\"2\"}]}}}",
           "");
    append(journal, JOURNAL_STATE, 0, "file",
           "{\"what\":\"fetch\",\"outcome\":\"ok\",\"path\":\"<t>`\",\"url\":"
           "\"https://x/t?k\",\"sha256\":\"5f\",\"size\":4}",
           "");
    append(journal, JOURNAL_STATE, 0, "file",
           "{\"what\":\"clone\",\"outcome\":\"ok\",\"path\":\"r\",\"url\":"
           "\"https://x/r\",\"commit\":\"c0\"}",
           "");
    append(journal, JOURNAL_STATE, 0, "file",
           "{\"what\":\"clone\",\"outcome\":\"ok\",\"path\":\"s\",\"url\":"
           "\"https://x/s\",\"commit\":\"c1\",\"depth\":2,\"lfs\":true,"
           "\"submodules\":true}",
           "");
    journal_destroy(&journal);
    assert_int_equal(export_text(path, EXPORT_MARKDOWN, &text, &fault), 0);
    assert_non_null(
        strstr((char *) text.data,
               "From outside:\n\n- `package a 1, SHA-256 5e`\n- `package b 2`\n"
               "- `file t of https://x/t, 4 bytes, SHA-256 5f`\n"
               "- `repository r of https://x/r, commit c0`\n"
               "- `repository s of https://x/s, commit c1, depth 2, with Git "
               "LFS, with submodules`\n"));
    assert_int_equal(export_text(path, EXPORT_PAGE, &page, &fault), 0);
    assert_non_null(strstr((char *) page.data,
                           "<p>From outside: package a 1, SHA-256 5e</p>"));
    assert_non_null(strstr((char *) page.data, "file &lt;t&gt;` of"));
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
    journal_t *journal = open_journal(*state);
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
    journal_t *journal = open_journal(*state);
    fault_t fault = {0};

    ask(journal, 1, "{\"code\":\"first\"}");
    ask(journal, 2, "{\"code\":\"second\"}");
    journal_destroy(&journal);
    assert_int_equal(file_read(file, 1 << 20, &log, &fault), 0);
    log.data[log.size - 1] ^= 1;
    assert_int_equal(file_write_atomic(file, 0600, log.data, log.size, &fault),
                     0);
    assert_int_equal(export_text(path, EXPORT_IPYNB, &out, &fault), -EBADMSG);
    assert_non_null(strstr((char *) out.data, "first"));
    assert_null(strstr((char *) out.data, "second"));
}

static void a_missing_journal_is_a_fault(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    fault_t fault = {0};

    assert_int_equal(export_text(path, EXPORT_IPYNB, &out, &fault), -ENOENT);
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
        with_folder(markdown_cannot_be_left),
        with_folder(markdown_names_types_in_a_code_span),
        with_folder(what_came_from_outside_is_listed),
        with_folder(a_page_has_no_active_content),
        cmocka_unit_test(only_known_endings_name_a_format),
        with_folder(a_folder_that_is_missing_is_named),
        with_folder(a_damaged_journal_yields_the_records_before_the_damage),
        with_folder(a_missing_journal_is_a_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
