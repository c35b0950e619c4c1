/* Notebooks read from files: every version, and everything that is wrong. */
#include "tests/lib/test.h"

#include "base/fd.h"
#include "notebooks/formats/notebook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static notebook_t parse(const char *text)
{
    notebook_t notebook = {0};
    fault_t fault = {0};

    if (notebook_parse(text, strlen(text), "a.ipynb", &notebook, &fault) < 0)
        fail_msg("%s", fault.text);
    return notebook;
}

static const char *member(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static void texts_are_joined(void **state)
{
    cleanup_notebook notebook_t notebook =
        parse("{\"cells\":[{\"cell_type\":\"code\",\"id\":\"a-1\",\"metadata\":"
              "{\"hearth\":{\"request\":7}},\"execution_count\":3,"
              "\"source\":[\"x = 1\\n\",\"x\"],\"outputs\":["
              "{\"output_type\":\"stream\",\"name\":\"stdout\","
              "\"text\":[\"a\\n\",\"b\"]},"
              "{\"output_type\":\"execute_result\",\"execution_count\":3,"
              "\"data\":{\"text/plain\":[\"1\\n\",\"2\"],"
              "\"application/json\":[1,2]},\"metadata\":{}}]},"
              "{\"cell_type\":\"markdown\",\"id\":\"b\",\"metadata\":{},"
              "\"source\":\"# title\",\"attachments\":{\"a.png\":{}}}],"
              "\"metadata\":{\"title\":\"t\"},\"nbformat\":4,"
              "\"nbformat_minor\":5}");
    const notebook_cell_t *cell = &notebook.cells[0];
    const json_t *result = json_array_get(cell->outputs, 1);

    (void) state;
    assert_int_equal(notebook.count, 2);
    assert_string_equal(member(notebook.metadata, "title"), "t");
    assert_int_equal(cell->kind, NOTEBOOK_CODE);
    assert_int_equal(cell->count, 3);
    assert_string_equal(cell->source, "x = 1\nx");
    assert_int_equal(json_integer_value(notebook_cell_note(cell, "request")),
                     7);
    assert_string_equal(member(json_array_get(cell->outputs, 0), "text"),
                        "a\nb");
    assert_string_equal(member(json_object_get(result, "data"), "text/plain"),
                        "1\n2");
    assert_int_equal(json_array_size(json_object_get(
                         json_object_get(result, "data"), "application/json")),
                     2);
    assert_int_equal(notebook.cells[1].kind, NOTEBOOK_MARKDOWN);
    assert_non_null(notebook.cells[1].attachments);
    assert_ptr_equal(notebook_find(&notebook, "b"), &notebook.cells[1]);
    assert_null(notebook_find(&notebook, "c"));
}

static void cells_get_the_ids_that_they_lack(void **state)
{
    cleanup_notebook notebook_t notebook =
        parse("{\"cells\":["
              "{\"cell_type\":\"raw\",\"source\":\"1\",\"metadata\":{}},"
              "{\"cell_type\":\"raw\",\"source\":\"2\",\"id\":\"cell-3\"},"
              "{\"cell_type\":\"raw\",\"source\":\"3\",\"id\":\"no id!\"},"
              "{\"cell_type\":\"raw\",\"source\":\"4\",\"id\":\"cell-3\"}],"
              "\"metadata\":{},\"nbformat\":4,\"nbformat_minor\":2}");
    static const char *const ids[] = {"cell-1", "cell-3", "cell-3-2", "cell-4"};

    (void) state;
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(notebook.cells[i].id, ids[i]);
}

/* 4.0 to 4.4 have no ids; 4.5 must have them, and newer ones are read as far
 * as they are known. */
static void every_minor_version_is_read(void **state)
{
    (void) state;
    for (int minor = 0; minor < 8; minor++) {
        cleanup_notebook notebook_t notebook = {0};
        cleanup_free char *text = mem_format(
            "{\"cells\":[{\"cell_type\":\"code\",\"execution_count\":1,%s"
            "\"metadata\":{},\"outputs\":[],\"source\":[\"a\\n\",\"b\"]}],"
            "\"metadata\":{\"orig_nbformat\":2},\"nbformat\":4,"
            "\"nbformat_minor\":%d}",
            minor < 5 ? "" : "\"id\":\"own\",", minor);
        fault_t fault = {0};

        if (notebook_parse(text, strlen(text), "it", &notebook, &fault) < 0)
            fail_msg("4.%d: %s", minor, fault.text);
        assert_int_equal(notebook.count, 1);
        assert_string_equal(notebook.cells[0].source, "a\nb");
        assert_string_equal(notebook.cells[0].id, minor < 5 ? "cell-1" : "own");
    }
}

static void nbformat_3_is_converted(void **state)
{
    cleanup_notebook notebook_t notebook = parse(
        "{\"metadata\":{\"name\":\"\"},\"nbformat\":3,\"nbformat_minor\":0,"
        "\"worksheets\":[{\"cells\":["
        "{\"cell_type\":\"heading\",\"level\":2,\"metadata\":{},"
        "\"source\":[\"Title\"]},"
        "{\"cell_type\":\"code\",\"collapsed\":false,\"input\":[\"1/0\"],"
        "\"language\":\"python\",\"metadata\":{},\"prompt_number\":4,"
        "\"outputs\":["
        "{\"output_type\":\"stream\",\"stream\":\"stderr\",\"text\":[\"w\"]},"
        "{\"output_type\":\"pyout\",\"prompt_number\":4,\"text\":[\"5\"],"
        "\"png\":\"aGk=\\n\",\"json\":\"{\\\"a\\\":1}\",\"metadata\":{}},"
        "{\"output_type\":\"pyerr\",\"ename\":\"E\",\"evalue\":\"v\","
        "\"traceback\":[\"t\"]}]}]},"
        "{\"cells\":[{\"cell_type\":\"html\",\"source\":\"<b>\"}]}]}");
    const notebook_cell_t *code = &notebook.cells[1];
    const json_t *data =
        json_object_get(json_array_get(code->outputs, 1), "data");

    (void) state;
    assert_int_equal(notebook.count, 3);
    assert_string_equal(notebook.cells[0].source, "## Title");
    assert_int_equal(notebook.cells[0].kind, NOTEBOOK_MARKDOWN);
    assert_string_equal(code->source, "1/0");
    assert_int_equal(code->count, 4);
    assert_string_equal(member(json_array_get(code->outputs, 0), "name"),
                        "stderr");
    assert_string_equal(member(data, "text/plain"), "5");
    assert_string_equal(member(data, "image/png"), "aGk=\n");
    assert_int_equal(json_integer_value(json_object_get(
                         json_object_get(data, "application/json"), "a")),
                     1);
    assert_string_equal(member(json_array_get(code->outputs, 2), "output_type"),
                        "error");
    assert_int_equal(notebook.cells[2].kind, NOTEBOOK_MARKDOWN);
}

#define BOOK(cells) "{\"nbformat\":4,\"metadata\":{},\"cells\":[" cells "]}"
#define CODE(rest)                                                             \
    BOOK("{\"cell_type\":\"code\",\"metadata\":{},\"source\":\"\"," rest "}")
#define OUTPUT(output) CODE("\"outputs\":[" output "]")

static void a_mistake_is_named(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {"", "a.ipynb: not JSON: it is empty"},
        {"{\"nbformat\":4,\n", "not JSON: it ends in the middle, at line 2"},
        {"{\n<<<<<<< HEAD\n", "it has merge-conflict marks at line 2"},
        {"{\n \"a\" 1}", "not JSON: line 2: a colon is missing"},
        {"[]", "a notebook is a JSON object"},
        {"{}", "`nbformat` is missing"},
        {"{\"nbformat\":\"4\"}", "`nbformat` is missing"},
        {"{\"nbformat\":2}", "nbformat 2 is older than hearth reads"},
        {"{\"nbformat\":5}",
         "nbformat 5 is newer than this hearth reads (3 and 4)"},
        {"{\"nbformat\":3}", "`worksheets` is missing"},
        {"{\"nbformat\":4}", "`cells` must be a list"},
        {"{\"nbformat\":4,\"cells\":[],\"metadata\":3}",
         "`metadata` must be an object"},
        {BOOK("5"), "cell 1: a cell is an object with a `cell_type`"},
        {BOOK("{}"), "a cell is an object with a `cell_type`"},
        {BOOK("{\"cell_type\":\"sheet\",\"source\":\"\"}"),
         "cell 1: its `cell_type` must be code, markdown or raw"},
        {BOOK("{\"cell_type\":\"raw\"}"), "its `source` must be text"},
        {BOOK("{\"cell_type\":\"raw\",\"source\":[1]}"),
         "its `source` must be text"},
        {BOOK("{\"cell_type\":\"raw\",\"source\":\"\",\"metadata\":[]}"),
         "its `metadata` must be an object"},
        {CODE("\"execution_count\":null"), "a code cell needs `outputs`"},
        {OUTPUT("{}"), "an `output_type` must be stream"},
        {OUTPUT("{\"output_type\":\"comic\"}"), "an `output_type` must be"},
        {OUTPUT("{\"output_type\":\"stream\",\"text\":\"\"}"),
         "a stream needs a `name` and a `text`"},
        {OUTPUT("{\"output_type\":\"display_data\",\"data\":[]}"),
         "an output's `data` must be an object"},
        {OUTPUT("{\"output_type\":\"display_data\","
                "\"data\":{\"text/plain\":5}}"),
         "an output's data must be text"},
        {OUTPUT("{\"output_type\":\"error\",\"ename\":\"E\"}"),
         "an error needs `ename`, `evalue` and `traceback`"},
        {OUTPUT("{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"\","
                "\"traceback\":[5]}"),
         "a traceback is a list of strings"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        notebook_t notebook = {0};
        fault_t fault = {0};
        int r = notebook_parse(bad[i].text, strlen(bad[i].text), "a.ipynb",
                               &notebook, &fault);
        assert_int_equal(r, -EINVAL);
        if (!strstr(fault.text, bad[i].says))
            fail_msg("\"%s\" does not say \"%s\"", fault.text, bad[i].says);
        assert_null(notebook.cells);
    }
}

static void a_cell_of_a_newer_kind_is_kept(void **state)
{
    const char *text =
        "{\"nbformat\":4,\"nbformat_minor\":99,\"metadata\":{},\"cells\":["
        "{\"cell_type\":\"sheet\",\"id\":\"a\",\"rows\":[1]},"
        "{\"cell_type\":\"raw\",\"source\":\"x\"}]}";
    cleanup_notebook notebook_t notebook = {0};
    fault_t fault = {0};

    (void) state;
    assert_int_equal(notebook_parse(text, strlen(text), "a", &notebook, &fault),
                     0);
    assert_int_equal(notebook.count, 2);
    assert_int_equal(notebook.cells[0].kind, NOTEBOOK_OTHER);
    assert_string_equal(notebook.cells[0].source, "");
    json_auto_t *kept = notebook_cell_json(&notebook.cells[0]);
    json_auto_t *expected = json_pack("{s:s, s:s, s:[i]}", "cell_type", "sheet",
                                      "id", "a", "rows", 1);
    assert_true(json_equal(kept, expected));
}

/* Two cells of a megabyte each. */
static void write_big(char path[], const char *behind)
{
    int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");

    assert_non_null(file);
    fputs("{\"cells\":[", file);
    for (int i = 0; i < 2; i++) {
        fprintf(file,
                "%s{\"cell_type\":\"code\",\"source\":\"%d\",\"outputs\":[{"
                "\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":[",
                i ? ",\n" : "", i);
        for (int k = 0; k < 100000; k++)
            fprintf(file, "\"line %d\\n\",", k);
        fputs("\"\"]}]}", file);
    }
    fputs(behind, file);
    fclose(file);
}

static void outputs_of_a_big_file_are_read_when_they_are_wanted(void **state)
{
    char path[] = "/tmp/hearth-test-notebook-XXXXXX";
    cleanup_notebook notebook_t opened = {0};
    cleanup_notebook notebook_t whole = {0};
    fault_t fault = {0};

    (void) state;
    write_big(path, "],\"metadata\":{\"a\":1},\"nbformat\":4}");
    assert_int_equal(notebook_open(path, &opened, &fault), 0);
    assert_int_equal(notebook_read(path, &whole, &fault), 0);
    assert_int_equal(opened.count, 2);
    assert_true(json_equal(opened.metadata, whole.metadata));
    for (size_t i = 0; i < 2; i++) {
        notebook_cell_t *cell = &opened.cells[i];
        assert_null(cell->outputs);
        assert_string_equal(cell->source, i ? "1" : "0");
        for (int k = 0; k < 2; k++) {
            notebook_cell_load(cell);
            assert_true(json_equal(cell->outputs, whole.cells[i].outputs));
            notebook_cell_unload(cell);
            assert_null(cell->outputs);
        }
    }
    notebook_cell_unload(&whole.cells[0]);
    assert_non_null(whole.cells[0].outputs);
    unlink(path);
}

/* Returns how many bytes of the mapping that begins there are in memory. */
static size_t resident(const char *map)
{
    cleanup_buffer buffer_t maps = BUFFER_EMPTY;
    cleanup_free char *head = mem_format("%lx-", (unsigned long) map);
    fault_t fault = {0};
    unsigned long kib;

    assert_int_equal(file_read("/proc/self/smaps", 64u << 20, &maps, &fault),
                     0);
    const char *at = strstr((char *) maps.data, head);
    assert_non_null(at);
    at = strstr(at, "\nRss:");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\nRss: %lu kB", &kib), 1);
    return (size_t) kib << 10;
}

static void what_cells_gave_back_does_not_come_again(void **state)
{
    char path[] = "/tmp/hearth-test-notebook-XXXXXX";
    cleanup_notebook notebook_t notebook = {0};
    fault_t fault = {0};
    FILE *file = fdopen(mkstemp(path), "w");

    (void) state;
    assert_non_null(file);
    fputs("{\"cells\":[", file);
    for (int i = 0; i < 1000; i++) {
        fprintf(file,
                "%s{\"cell_type\":\"code\",\"source\":\"\",\"outputs\":[{"
                "\"output_type\":\"stream\",\"name\":\"stdout\",\"text\":\"",
                i ? ",\n" : "");
        for (int k = 0; k < 1000; k++)
            fputs("0123456789", file);
        fputs("\"}]}", file);
    }
    fputs("],\"nbformat\":4}", file);
    fclose(file);
    assert_int_equal(notebook_open(path, &notebook, &fault), 0);
    for (size_t i = 0; i < notebook.count; i++) {
        notebook_cell_load(&notebook.cells[i]);
        assert_int_equal(json_array_size(notebook.cells[i].outputs), 1);
        notebook_cell_unload(&notebook.cells[i]);
    }
    assert_in_range(resident(notebook.map), 0, 1 << 20);
    unlink(path);
}

static void a_mistake_in_a_big_file_is_named(void **state)
{
    static const struct {
        const char *behind, *says;
    } bad[] = {
        {"],\"nbformat\":4", "it ends in the middle, at line 2"},
        {",\n{\"a\":x}],\"nbformat\":4}", "line 3: a value is missing"},
        {",\n{\"a\":1 2}],\"nbformat\":4}", "line 3: a comma or } is missing"},
        {",\n5],\"nbformat\":4}", "cell 3: a cell is an object"},
        {"] x", "line 2: a comma or } is missing"},
        {",\n<<<<<<< a\n],\"nbformat\":4}", "merge-conflict marks at line 3"},
        {"],\"nbformat\":7}", "newer than this hearth"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char path[] = "/tmp/hearth-test-notebook-XXXXXX";
        notebook_t notebook = {0};
        fault_t fault = {0};

        write_big(path, bad[i].behind);
        assert_int_equal(notebook_open(path, &notebook, &fault), -EINVAL);
        if (!strstr(fault.text, bad[i].says))
            fail_msg("\"%s\" does not say \"%s\"", fault.text, bad[i].says);
        assert_null(notebook.cells);
        unlink(path);
    }
}

static void a_file_that_is_too_big_is_refused(void **state)
{
    char path[] = "/tmp/hearth-test-notebook-XXXXXX";
    int fd = mkstemp(path);
    notebook_t notebook = {0};
    fault_t fault = {0};

    (void) state;
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, 500 << 20), 0);
    assert_int_equal(notebook_read(path, &notebook, &fault), -EFBIG);
    close(fd);
    unlink(path);
    assert_non_null(strstr(fault.text, "it has 500 MiB; notebooks of up to "
                                       "256 MiB are read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_joined),
        cmocka_unit_test(cells_get_the_ids_that_they_lack),
        cmocka_unit_test(every_minor_version_is_read),
        cmocka_unit_test(nbformat_3_is_converted),
        cmocka_unit_test(a_mistake_is_named),
        cmocka_unit_test(a_cell_of_a_newer_kind_is_kept),
        cmocka_unit_test(outputs_of_a_big_file_are_read_when_they_are_wanted),
        cmocka_unit_test(what_cells_gave_back_does_not_come_again),
        cmocka_unit_test(a_mistake_in_a_big_file_is_named),
        cmocka_unit_test(a_file_that_is_too_big_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
