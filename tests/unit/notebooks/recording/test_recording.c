/* Recordings as they come about: random rows of records give notebooks that
 * hold together, a cut at any byte leaves what stood before, and what was
 * changed is found. That nbformat accepts them is tests/system's to ask. */
#include "tests/lib/recorded.h"

#include "base/fd.h"
#include "notebooks/comparison/verify.h"
#include "notebooks/recording/export.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take_all(const char *folder, const redact_t *mask,
                     notebook_t *notebook)
{
    recording_options_t options = {.mask = mask};
    fault_t fault = {0};

    if (recording_notebook(folder, &options, notebook, &fault) < 0)
        fail_msg("%s", fault.text);
}

static const char *first_text(const notebook_cell_t *cell)
{
    json_t *output = json_array_get(cell->outputs, 0);
    json_t *data = json_object_get(output, "data");
    const char *text = json_string_value(
        json_object_get(data ? data : output, data ? "text/plain" : "text"));
    return text ? text : "";
}

#define DISPLAY(text)                                                          \
    "{\"data\":{\"text/plain\":\"" text "\"},\"metadata\":{},"                 \
    "\"transient\":{\"display_id\":\"d\"}}"

/* The gateway answered for the kernel: it was gone, or the queue full. */
static void a_cell_that_never_began_is_marked(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    journal_t *journal = recordings_open(*state);
    const char *error = "{\"status\":\"error\",\"ename\":\"SessionGone\"}";

    recorded_append(journal, JOURNAL_REQUEST, 1, "execute_request",
                    "{\"code\":\"a\"}");
    recorded_append(journal, JOURNAL_EVENT, 1, "execute_input",
                    "{\"code\":\"a\",\"execution_count\":1}");
    recorded_append(journal, JOURNAL_REPLY, 1, "execute_reply", error);
    recorded_append(journal, JOURNAL_REQUEST, 2, "execute_request",
                    "{\"code\":\"b\"}");
    recorded_append(journal, JOURNAL_REPLY, 2, "execute_reply", error);
    journal_destroy(&journal);
    take_all(*state, NULL, &notebook);
    assert_int_equal(notebook.count, 2);
    assert_null(notebook_cell_note(&notebook.cells[0], "refused"));
    assert_true(
        json_is_true(notebook_cell_note(&notebook.cells[1], "refused")));
}

static void notes_precede_their_code(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    journal_t *journal = recordings_open(*state);

    recorded_append(journal, JOURNAL_STATE, 0, "note", "{\"text\":\"first\"}");
    recorded_append(journal, JOURNAL_REQUEST, 1, "execute_request",
                    "{\"code\":\"a\"}");
    recorded_append(journal, JOURNAL_REQUEST, 2, "execute_request",
                    "{\"code\":\"b\"}");
    recorded_append(journal, JOURNAL_STATE, 0, "note",
                    "{\"text\":\"for b\",\"before\":2,\"by\":\"agent\"}");
    recorded_append(journal, JOURNAL_STATE, 0, "note",
                    "{\"text\":\"also\",\"before\":2}");
    recorded_append(journal, JOURNAL_REQUEST, 3, "execute_request",
                    "{\"code\":\"c\"}");
    journal_destroy(&journal);
    take_all(*state, NULL, &notebook);
    static const char *const sources[] = {"first", "a", "for b",
                                          "also",  "b", "c"};
    assert_int_equal(notebook.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(notebook.cells[i].source, sources[i]);
    assert_int_equal(notebook.cells[2].kind, NOTEBOOK_MARKDOWN);
}

/* Several requests may wait when a client gets something from outside. */
static void what_came_precedes_the_cells_that_began_later(void **state)
{
    static const char call[] = "{\"text\":\"came\",\"call\":{\"name\":\"f\"}}";
    static const char *const ids[] = {"hearth-1", "hearth-5", "hearth-6",
                                      "hearth-2", "hearth-3"};
    cleanup_notebook notebook_t notebook = {0};
    journal_t *journal = recordings_open(*state);

    recorded_append(journal, JOURNAL_REQUEST, 1, "execute_request",
                    "{\"code\":\"a\"}");
    recorded_append(journal, JOURNAL_REQUEST, 2, "execute_request",
                    "{\"code\":\"a\"}");
    recorded_append(journal, JOURNAL_REQUEST, 3, "execute_request",
                    "{\"code\":\"a\"}");
    recorded_append(journal, JOURNAL_EVENT, 1, "execute_input",
                    "{\"code\":\"a\",\"execution_count\":1}");
    recorded_append(journal, JOURNAL_STATE, 0, "note", call);
    recorded_append(journal, JOURNAL_STATE, 0, "note", call);
    for (uint64_t request = 2; request <= 3; request++) {
        recorded_append(journal, JOURNAL_EVENT, request, "execute_input",
                        "{\"code\":\"a\",\"execution_count\":1}");
        recorded_append(journal, JOURNAL_REPLY, request, "execute_reply",
                        "{\"status\":\"ok\"}");
    }
    journal_destroy(&journal);
    take_all(*state, NULL, &notebook);
    assert_int_equal(notebook.count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(notebook.cells[i].id, ids[i]);
}

static void secrets_are_masked(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_redact redact_t *mask = NULL;
    journal_t *journal = recordings_open(*state);
    redact_t *none = NULL;
    fault_t fault = {0};

    setenv("HEARTH_TEST_SECRET", "a.b*c", 1);
    recorded_append(journal, JOURNAL_REQUEST, 1, "execute_request",
                    "{\"code\":\"key = 'sk-12345678' # a.b*c axbbc\"}");
    recorded_append(journal, JOURNAL_EVENT, 1, "stream",
                    "{\"name\":\"stdout\",\"text\":\"is sk-1234\"}");
    recorded_append(journal, JOURNAL_EVENT, 1, "stream",
                    "{\"name\":\"stdout\",\"text\":\"5678.\"}");
    journal_destroy(&journal);
    assert_int_equal(redact_new("sk-[0-9]{8}  $HEARTH_TEST_SECRET "
                                "$HEARTH_TEST_NOTHING",
                                &mask, &fault),
                     0);
    take_all(*state, mask, &notebook);
    assert_string_equal(notebook.cells[0].source,
                        "key = '[masked]' # [masked] axbbc");
    assert_string_equal(first_text(&notebook.cells[0]), "is [masked].");
    assert_int_equal(redact_new(NULL, &none, &fault), 0);
    assert_null(none);
    assert_int_equal(redact_new("a [b", &none, &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "'[b'"));
}

/* ---- random rows of records ---- */

static uint64_t seed;

static unsigned random_below(unsigned bound)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned) (seed >> 33) % bound;
}

static void append_random(journal_t *journal, uint64_t *request)
{
    static const struct {
        journal_kind_t kind;
        const char *type;
        const char *content;
    } records[] = {
        {JOURNAL_EVENT, "stream", "{\"name\":\"stdout\",\"text\":\"a\\n\"}"},
        {JOURNAL_EVENT, "stream", "{\"name\":\"stderr\",\"text\":\"b\"}"},
        {JOURNAL_EVENT, "stream", "{\"name\":7}"},
        {JOURNAL_EVENT, "display_data", DISPLAY("x")},
        {JOURNAL_EVENT, "update_display_data", DISPLAY("y")},
        {JOURNAL_EVENT, "execute_result",
         "{\"execution_count\":2,\"data\":{\"application/json\":[1]},"
         "\"metadata\":[]}"},
        {JOURNAL_EVENT, "error",
         "{\"ename\":\"E\",\"evalue\":3,\"traceback\":[\"t\",5]}"},
        {JOURNAL_EVENT, "clear_output", "{\"wait\":true}"},
        {JOURNAL_EVENT, "clear_output", "{\"wait\":false}"},
        {JOURNAL_EVENT, "execute_input", "{\"execution_count\":3}"},
        {JOURNAL_EVENT, "comm_open", "{}"},
        {JOURNAL_EVENT, "comm_open",
         "{\"comm_id\":\"w\",\"target_name\":\"jupyter.widget\",\"data\":"
         "{\"state\":{\"_model_name\":\"M\",\"value\":1}}}"},
        {JOURNAL_EVENT, "comm_msg",
         "{\"comm_id\":\"w\",\"data\":{\"method\":\"update\","
         "\"state\":{\"value\":[]},\"buffer_paths\":[[\"value\",0],7]}}"},
        {JOURNAL_EVENT, "comm_close", "{\"comm_id\":\"w\"}"},
        {JOURNAL_EVENT, "input_request", "{\"prompt\":\"p\"}"},
        {JOURNAL_EVENT, "input_request", "{\"prompt\":1,\"password\":true}"},
        {JOURNAL_STATE, "input_reply", "{\"request\":2,\"value\":\"v\"}"},
        {JOURNAL_STATE, "input_reply", "{\"request\":-1,\"value\":[]}"},
        {JOURNAL_REPLY, "execute_reply",
         "{\"status\":\"ok\",\"execution_count\":3}"},
        {JOURNAL_REPLY, "execute_reply", "[]"},
        {JOURNAL_STATE, "note", "{\"text\":\"n\",\"before\":3}"},
        {JOURNAL_STATE, "note", "{}"},
        {JOURNAL_STATE, "gone", "{\"reason\":\"idle\"}"},
        {JOURNAL_GAP, "gap", "{\"records\":2,\"bytes\":5}"},
    };
    unsigned which = random_below(sizeof records / sizeof *records + 5);

    if (which >= sizeof records / sizeof *records) {
        recorded_append(
            journal, JOURNAL_REQUEST, ++*request,
            random_below(5) ? "execute_request" : "complete_request",
            random_below(5) ? "{\"code\":\"x\"}" : "{\"silent\":true}");
        return;
    }
    recorded_append(journal, records[which].kind,
                    *request ? 1 + random_below((unsigned) *request + 1) : 0,
                    records[which].type, records[which].content);
}

static json_t *export_json(const char *folder, int expected)
{
    recording_options_t options = {.session = "5e55"};
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    fault_t fault = {0};

    assert_non_null(file);
    int r = export_write(folder, &options, EXPORT_IPYNB, file, &fault);
    fclose(file);
    json_t *json = json_loadb(text, size, 0, NULL);
    free(text);
    assert_int_equal(r, expected);
    assert_non_null(json);
    return json;
}

/* The reader must accept the notebook, and the MACs must cover all of it. */
static void assert_holds_together(const json_t *json, const char *folder)
{
    cleanup_free char *text = json_dumps(json, JSON_COMPACT);
    cleanup_notebook notebook_t notebook = {0};
    cleanup_verify verify_t verdict = {0};
    fault_t fault = {0};

    if (notebook_parse(text, strlen(text), "it", &notebook, &fault) < 0)
        fail_msg("%s", fault.text);
    assert_int_equal(verify_notebook(&notebook, NULL, folder, &verdict, &fault),
                     0);
    if (json_array_size(verdict.problems))
        fail_msg("seed %llu: %s", (unsigned long long) seed,
                 json_string_value(json_array_get(verdict.problems, 0)));
}

/* Every line of the file is a notebook that nbformat finds valid. */
static void assert_valid(const char *path)
{
    static const char check[] =
        "import json, sys, warnings\n"
        "try:\n"
        "    import nbformat\n"
        "except ImportError:\n"
        "    sys.exit(77)\n"
        "warnings.simplefilter('error')\n"
        "for line in open(sys.argv[1], encoding='utf-8'):\n"
        "    notebook = nbformat.reads(line, as_version=4)\n"
        "    nbformat.validate(notebook)\n";
    int status = recorded_run_python(check, path);

    if (status == 77)
        print_message("nbformat cannot be imported\n");
    else
        assert_int_equal(status, 0);
}

#define ROWS 10000 /* HEARTH_TEST_ROWS asks for another number */

static void random_records_fold_into_notebooks(void **state)
{
    const char *asked = getenv("HEARTH_TEST_ROWS");
    unsigned rows = asked ? (unsigned) strtoul(asked, NULL, 10) : ROWS;
    cleanup_free char *path = mem_format("%s/all", (char *) *state);
    FILE *all = fopen(path, "w");

    assert_non_null(all);
    for (unsigned row = 0; row < rows; row++) {
        cleanup_free char *folder =
            mem_format("%s/%u", (char *) *state, row % 50);
        journal_t *journal;
        uint64_t request = 0;
        fault_t fault;

        seed = row;
        assert_int_equal(path_remove_tree(folder, &fault), 0);
        journal = recordings_open(folder);
        for (unsigned i = random_below(30); i > 0; i--)
            append_random(journal, &request);
        journal_destroy(&journal);
        json_auto_t *json = export_json(folder, 0);
        assert_holds_together(json, folder);
        json_dumpf(json, all, JSON_COMPACT);
        putc('\n', all);
    }
    fclose(all);
    assert_valid(path);
}

/* ---- what was cut and changed ---- */

static void append_some(const char *folder)
{
    journal_t *journal = recordings_open(folder);

    for (uint64_t i = 1; i <= 3; i++) {
        recorded_append(journal, JOURNAL_REQUEST, i, "execute_request",
                        "{\"code\":\"print('hello')\"}");
        recorded_append(journal, JOURNAL_EVENT, i, "stream",
                        "{\"name\":\"stdout\",\"text\":\"hello\\n\"}");
        recorded_append(journal, JOURNAL_REPLY, i, "execute_reply",
                        "{\"status\":\"ok\",\"execution_count\":1}");
    }
    journal_destroy(&journal);
}

static void a_cut_at_any_byte_is_reported(void **state)
{
    cleanup_free char *path =
        mem_format("%s/journal-000001.log", (char *) *state);
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    fault_t fault = {0};
    size_t most = 0;

    append_some(*state);
    assert_int_equal(file_read(path, 1 << 20, &whole, &fault), 0);
    for (size_t cut = 0; cut < whole.size; cut++) {
        cleanup_verify verify_t verdict = {0};
        assert_int_equal(file_replace(path, 0600, whole.data, cut, &fault), 0);
        json_auto_t *json = export_json(*state, -EBADMSG);
        json_t *own =
            json_object_get(json_object_get(json, "metadata"), "hearth");
        assert_non_null(strstr(
            json_string_value(json_object_get(own, "damage")), "cut off"));
        size_t cells = json_array_size(json_object_get(json, "cells"));
        assert_in_range(cells, most, 3);
        most = cells;
        assert_int_equal(verify_journal(*state, NULL, &verdict, &fault), 0);
        assert_int_equal(json_array_size(verdict.problems), 1);
    }
    assert_int_equal(most, 3);
}

static void assert_problem(const notebook_t *notebook, const char *folder,
                           const char *expected)
{
    cleanup_verify verify_t verdict = {0};
    fault_t fault = {0};

    assert_int_equal(verify_notebook(notebook, NULL, folder, &verdict, &fault),
                     0);
    const char *said = json_string_value(json_array_get(verdict.problems, 0));
    if (!expected ? said != NULL : !said || !strstr(said, expected))
        fail_msg("\"%s\" instead of \"%s\"", said ? said : "nothing",
                 expected ? expected : "nothing");
}

static void read_back(const char *folder, notebook_t *notebook)
{
    json_auto_t *json = export_json(folder, 0);
    cleanup_free char *text = json_dumps(json, JSON_COMPACT);
    fault_t fault = {0};

    assert_int_equal(notebook_parse(text, strlen(text), "it", notebook, &fault),
                     0);
}

static void assert_has_problem(const notebook_t *notebook, const char *text)
{
    cleanup_verify verify_t verdict = {0};
    fault_t fault = {0};
    size_t index;
    json_t *problem;

    assert_int_equal(verify_notebook(notebook, NULL, NULL, &verdict, &fault),
                     0);
    json_array_foreach(verdict.problems, index, problem)
    {
        if (strcmp(json_string_value(problem), text) == 0)
            return;
    }
    fail_msg("not found: %s", text);
}

static void a_changed_notebook_is_found(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    notebook_cell_t swapped;
    journal_t *journal;

    append_some(*state);
    read_back(*state, &notebook);
    assert_problem(&notebook, *state, NULL);
    assert_problem(&notebook, NULL, NULL);

    /* What a front end adds is its own. */
    json_object_set_new(notebook.cells[0].metadata, "collapsed", json_true());
    assert_problem(&notebook, *state, NULL);

    notebook.cells[1].source[0] ^= 1;
    assert_problem(&notebook, *state, "cell 2 (hearth-4) was changed");
    notebook.cells[1].source[0] ^= 1;

    swapped = notebook.cells[0];
    notebook.cells[0] = notebook.cells[1];
    notebook.cells[1] = swapped;
    assert_problem(&notebook, *state, "removed, added or moved");
    assert_has_problem(&notebook, "cell 1 (hearth-4) was moved: it was cell 2");
    notebook.cells[1] = notebook.cells[0];
    notebook.cells[0] = swapped;

    notebook.count = 2;
    assert_problem(&notebook, *state, "removed, added or moved");
    cleanup_free char *removed = mem_format(
        "cell 3 of the export (%s) was removed", notebook.cells[2].id);
    assert_has_problem(&notebook, removed);
    notebook.count = 3;
    assert_problem(&notebook, *state, NULL);

    /* The journal may grow; one that is another is found. */
    journal = recordings_open(*state);
    recorded_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    journal_destroy(&journal);
    assert_problem(&notebook, *state, NULL);
}

static void another_journal_is_found(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_free char *other = mem_format("%s/other", (char *) *state);
    journal_t *journal;

    append_some(*state);
    read_back(*state, &notebook);
    journal = recordings_open(other);
    recorded_append(journal, JOURNAL_STATE, 0, "idle", "{}");
    journal_destroy(&journal);
    assert_problem(&notebook, other, "its journal was cut off");
    append_some(other);
    assert_problem(&notebook, other, "its journal is a different one");
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, recorded_make_folder,                \
                                    recorded_remove_folder)

#define SHA "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
#define NOTE                                                                   \
    "{\"text\":\"packages: added a 1\",\"by\":\"hearth\",\"call\":{\"name\":"  \
    "\"hearth:packages\",\"arguments\":{\"order\":\"add\",\"names\":[\"a\"]}," \
    "\"result\":{\"status\":\"ok\",\"packages\":[{\"name\":\"a\",\"version\":" \
    "\"1\",\"requested\":true,\"sha256\":\"" SHA "\"}]}}}"
#define MISSED                                                                 \
    "{\"text\":\"lost\",\"by\":\"hearth\",\"call\":{\"name\":"                 \
    "\"hearth:packages\",\"missing\":\"why\",\"result\":{\"status\":\"ok\","   \
    "\"packages\":[{\"name\":\"c\",\"version\":\"3\"}]}}}"
#define FETCHED                                                                \
    "{\"text\":\"fetched\",\"by\":\"hearth\",\"call\":{\"name\":"              \
    "\"hearth:fetch\",\"arguments\":{\"url\":\"https://u:p@x/t?k=s\","         \
    "\"path\":\"t\"},\"result\":{\"status\":\"ok\"}}}"
#define FILE_RECORD                                                            \
    "{\"what\":\"fetch\",\"outcome\":\"ok\",\"path\":\"t\",\"url\":"           \
    "\"https://u:p@x/t?k=s\",\"sha256\":\"" SHA "\",\"size\":4}"
#define CLONE_RECORD                                                           \
    "{\"what\":\"clone\",\"outcome\":\"ok\",\"path\":\"r\",\"url\":"           \
    "\"https://x/r\",\"commit\":\"c0\",\"branch\":\"\",\"size\":4,"            \
    "\"ref\":\"\",\"depth\":0}"
#define PART_RECORD                                                            \
    "{\"what\":\"clone\",\"outcome\":\"ok\",\"path\":\"s\",\"url\":"           \
    "\"https://x/s\",\"commit\":\"c1\",\"branch\":\"b\",\"size\":5,"           \
    "\"ref\":\"b\",\"depth\":2,\"lfs\":true,\"submodules\":true}"
#define REFUSED_RECORD                                                         \
    "{\"what\":\"fetch\",\"outcome\":\"refused\",\"path\":\"n\",\"url\":"      \
    "\"https://x/n\"}"
#define RESULT(status)                                                         \
    "{\"request\":1,\"call\":6,\"result\":{\"status\":\"" status               \
    "\",\"packages\":[{\"name\":\"a\",\"version\":\"1\"},{\"name\":\"b\","     \
    "\"version\":\"2\"}]}}"

/* Records a session that had packages, files and repositories. */
static void record_what_came(void *folder)
{
    journal_t *journal = recordings_open(folder);

    recorded_append(journal, JOURNAL_STATE, 0, "note", NOTE);
    recorded_append(journal, JOURNAL_STATE, 0, "file", FILE_RECORD);
    recorded_append(journal, JOURNAL_STATE, 0, "note", FETCHED);
    recorded_append(journal, JOURNAL_STATE, 0, "file", REFUSED_RECORD);
    recorded_append(journal, JOURNAL_REQUEST, 1, "execute_request",
                    "{\"code\":\"%pip install b\"}");
    recorded_append(journal, JOURNAL_STATE, 0, "tool_call",
                    "{\"request\":1,\"name\":\"hearth:packages\"}");
    recorded_append(journal, JOURNAL_STATE, 0, "tool_result", RESULT("ok"));
    recorded_append(journal, JOURNAL_STATE, 0, "tool_result", RESULT("no"));
    recorded_append(journal, JOURNAL_STATE, 0, "file", CLONE_RECORD);
    recorded_append(journal, JOURNAL_STATE, 0, "file", PART_RECORD);
    recorded_append(journal, JOURNAL_STATE, 0, "preinstalled",
                    "{\"packages\":[{\"name\":\"z\",\"version\":\"1\"}]}");
    recorded_append(journal, JOURNAL_STATE, 0, "preinstalled",
                    "{\"packages\":[{\"name\":\"p\",\"version\":\"2\","
                    "\"sha256\":\"" SHA "\"}]}");
    recorded_append(journal, JOURNAL_REPLY, 1, "execute_reply",
                    "{\"status\":\"ok\"}");
    /* A revival noted what it could not have. */
    recorded_append(journal, JOURNAL_STATE, 0, "note", MISSED);
    journal_destroy(&journal);
}

/* The list is that of the session's end, and has no part of a URL that may be
 * secret. */
static void what_came_from_outside_is_listed(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_free char *text = NULL;
    const json_t *own;

    record_what_came(*state);
    take_all(*state, NULL, &notebook);
    own = json_object_get(notebook.metadata, "hearth");
    text = json_dumps(json_object_get(own, "packages"),
                      JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(text, "[{\"name\":\"a\",\"version\":\"1\"},{\"name\":"
                              "\"b\",\"version\":\"2\"}]");
    free(text);
    text = json_dumps(json_object_get(own, "preinstalled"),
                      JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(text, "[{\"name\":\"p\",\"sha256\":\"" SHA
                              "\",\"version\":\"2\"}]");
    assert_int_equal(json_array_size(json_object_get(own, "files")), 1);
    json_auto_t *places = json_pack("[O,O]", json_object_get(own, "files"),
                                    json_object_get(own, "repositories"));
    free(text);
    text = json_dumps(places, JSON_SORT_KEYS | JSON_COMPACT);
    assert_string_equal(
        text, "[[{\"path\":\"t\",\"sha256\":\"" SHA "\",\"size\":4,\"url\":"
              "\"https://x/t\"}],[{\"commit\":\"c0\",\"path\":\"r\",\"size\":"
              "4,\"url\":\"https://x/r\"},{\"branch\":\"b\",\"commit\":\"c1\","
              "\"depth\":2,\"lfs\":true,\"path\":\"s\",\"size\":5,"
              "\"submodules\":true,\"url\":\"https://x/s\"}]]");
}

static void what_a_url_may_have_of_secrets_is_cut(void **state)
{
    cleanup_notebook notebook_t notebook = {0}, whole = {0};
    recording_options_t options = {.is_whole = true};
    cleanup_free char *call = NULL;
    fault_t fault;

    record_what_came(*state);
    take_all(*state, NULL, &notebook);
    call = json_dumps(notebook_cell_note(&notebook.cells[1], "call"),
                      JSON_COMPACT | JSON_SORT_KEYS);
    assert_non_null(strstr(call, "\"url\":\"https://x/t\""));
    assert_non_null(strstr(call, "\"url_cut\":true"));
    /* A replay needs all of it. */
    assert_int_equal(recording_notebook(*state, &options, &whole, &fault), 0);
    free(call);
    call = json_dumps(notebook_cell_note(&whole.cells[1], "call"),
                      JSON_COMPACT | JSON_SORT_KEYS);
    assert_non_null(strstr(call, "\"url\":\"https://u:p@x/t?k=s\""));
    assert_null(strstr(call, "url_cut"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(a_cell_that_never_began_is_marked),
        with_folder(notes_precede_their_code),
        with_folder(what_came_precedes_the_cells_that_began_later),
        with_folder(secrets_are_masked),
        with_folder(what_came_from_outside_is_listed),
        with_folder(what_a_url_may_have_of_secrets_is_cut),
        with_folder(random_records_fold_into_notebooks),
        with_folder(a_cut_at_any_byte_is_reported),
        with_folder(a_changed_notebook_is_found),
        with_folder(another_journal_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
