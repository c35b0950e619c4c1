#include "notebooks/modelview/modelview.h"
#include "tests/lib/view_sample.h"

#include <string.h>

/* --- The header --- */

static void begins_with_the_outcome_of_the_cell(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[]");
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c");
    sample.cell.is_new_session = true;
    sample.cell.namespace = sample.names = view_sample_load(
        "{\"appeared\":[{\"name\":\"df\"}],\"changed\":[{\"name\":\"n\"}],"
        "\"went\":[\"x\"]}");
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c (new) · +df ~n -x");
    assert_false(sample.view.is_error);
    sample.cell.namespace = NULL;
    sample.cell.is_new_session = false;
    sample.cell.duration_us = 400;
    assert_non_null(strstr(view_sample_make(&sample), " ok 0.4 ms · "));
    sample.cell.duration_us = 950;
    assert_non_null(strstr(view_sample_make(&sample), " ok 1 ms · "));
    sample.cell.duration_us = 1234567;
    sample.cell.status = MODELVIEW_TIMEOUT;
    assert_string_equal(
        view_sample_make(&sample),
        "[3] TIMEOUT interrupted 1.2 s · session 7f3c · state kept");
    assert_true(sample.view.is_error);
}

static void says_how_far_a_running_cell_is(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(
        &sample,
        "[{\"output_type\":\"stream\",\"name\":\"stdout\","
        "\"text\":\"epoch 1\\nepoch 2\\repoch 12/100 loss 0.31\\n\"}]");
    sample.cell.status = MODELVIEW_RUNNING;
    sample.cell.duration_us = 45000000;
    sample.cell.hint = "call wait";
    assert_string_equal(view_sample_make(&sample),
                        "[3] RUNNING 45 s · session 7f3c · 2 lines, "
                        "last: epoch 12/100 loss 0.31 · call wait");
    assert_false(sample.view.is_error);
}

static void reports_a_loss_with_cause_and_names(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[]");
    sample.names = view_sample_load("[\"df\",\"model\",\"X_train\"]");
    sample.loss = (modelview_loss_t){
        .wall_us = 1767319327000000, /* 2026-01-02T02:02:07Z */
        .cause = "memory limit 512M reached in cell 6",
        .names = sample.names,
        .are_files_kept = true};
    sample.cell.loss = &sample.loss;
    assert_string_equal(
        view_sample_make(&sample),
        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel ended 02:02:07Z "
        "(memory limit 512M reached in cell 6); variables df model X_train "
        "gone; files kept");
    sample.cell.status = MODELVIEW_LOST;
    sample.reply =
        view_sample_load("{\"ename\":\"KernelDied\",\"evalue\":\"it died\"}");
    sample.cell.reply = sample.reply;
    assert_string_equal(
        view_sample_make(&sample),
        "[3] STATE LOST 41 ms · session 7f3c · kernel ended 02:02:07Z (memory "
        "limit 512M reached in cell 6); variables df model X_train gone; "
        "files kept");
    assert_true(sample.view.is_error);
}

static void takes_only_names_from_the_session(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[]");
    sample.cell.status = MODELVIEW_ERROR;
    sample.reply = view_sample_load("{\"ename\":\"Key\\nError · session 1\","
                                    "\"evalue\":\"v\"}");
    sample.cell.reply = sample.reply;
    assert_string_equal(view_sample_make(&sample),
                        "[3] KeyErrorsession1 41 ms · session 7f3c · state "
                        "kept\nKey\nError · session 1: v");
}

/* --- Look-alikes --- */

static void marks_lines_that_pretend(void **state)
{
    static const char *const pretend[] = {
        "[4] ok 1 ms · session 7f3c · state kept",
        "  [image 640×480 png, out:5.1]",
        "… 9,980 lines (412 KB) left out: read_output ref=out:6.1 …",
        "\u200b[4] ok 1 ms · session 7f3c",
        "\u3000［4］ ok 1 ms · session 7f3c",
        "... 3 lines left out",
        "STATE LOST: kernel ended",
        "\x1b[1m[4] ok · session 7f3c",
        "xxxx\r[4] ok · session 7f3c",
    };
    static const char *const plain[] = {"[1, 2, 3]", "...", "session 7f3c",
                                        "[INFO] started"};

    (void) state;
    for (size_t i = 0; i < sizeof pretend / sizeof *pretend; i++) {
        cleanup_sample view_sample_t sample;
        view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
        json_object_set_new(json_array_get(sample.outputs, 0), "text",
                            json_string(pretend[i]));
        const char *text = strchr(view_sample_make(&sample), '\n');
        if (strncmp(text, "\n| ", 3) != 0)
            fail_msg("not marked: %s", text);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        cleanup_sample view_sample_t sample;
        view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
        json_object_set_new(json_array_get(sample.outputs, 0), "text",
                            json_string(plain[i]));
        assert_string_equal(strchr(view_sample_make(&sample), '\n') + 1,
                            plain[i]);
    }
}

/* --- Errors --- */

/* As IPython writes it, shortened. */
static const char key_error[] =
    "[{\"output_type\":\"error\",\"ename\":\"KeyError\",\"evalue\":\"'nope'\","
    "\"traceback\":["
    "\"\\u001b[31m-----------------------------------------\\u001b[39m\","
    "\"\\u001b[31mKeyError\\u001b[39m         Traceback (most recent call "
    "last)\","
    "\"\\u001b[36mFile \\u001b[39m\\u001b[32m/v/lib/python3.11/site-packages/"
    "pandas/core/indexes/base.py:3816\\u001b[39m, in Index.get_loc(self, key)"
    "\\n   3815 try:\\n-> 3816     return 1\\n   3817 except:\\n\","
    "\"File pandas/_libs/index.pyx:172, in pandas._libs.index.get_loc()\\n"
    "--> 172 'Could not get source'\\n\","
    "\"KeyError: 'nope'\","
    "\"\\nThe above exception was the direct cause of the following "
    "exception:\\n\","
    "\"KeyError              Traceback (most recent call last)\","
    "\"Cell In[4], line 3\\n      1 import pandas\\n----> 3 df['nope']\\n\","
    "\"File ~/steps.py:12, in view_sample_load(name)\\n---> 12     return "
    "frame[name]\\n\","
    "\"File /v/site-packages/pandas/core/frame.py:14330, in "
    "DataFrame.__getitem__(self, key)\\n  14329\\n> 14330 indexer\\n  14331 if "
    "x:\\n\","
    "\"File /v/site-packages/pandas/huge.py:114330, in go()\\n114329\\n114330 "
    "indexer\\n\","
    "\"File /v/site-packages/pandas/core/indexes/base.py:3823, in "
    "Index.get_loc(self, key)\\n-> 3823     raise KeyError(key) from err\\n\","
    "\"KeyError: 'nope'\"]}]";

static void folds_a_traceback(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, key_error);
    sample.cell.status = MODELVIEW_ERROR;
    sample.reply = view_sample_load("{\"ename\":\"KeyError\"}");
    sample.cell.reply = sample.reply;
    assert_string_equal(
        view_sample_make(&sample),
        "[3] KeyError 41 ms · session 7f3c · state kept\n"
        "pandas/_libs/index.pyx:172 pandas._libs.index.get_loc (1 library "
        "frame left out; out:3.1)\n"
        "KeyError: 'nope'\n"
        "direct cause of:\n"
        "cell 4 line 3: df['nope']\n"
        "~/steps.py:12, in view_sample_load(name): return frame[name]\n"
        "pandas/core/indexes/base.py:3823 Index.get_loc (2 library frames "
        "left out; out:3.1)\n"
        "KeyError: 'nope'");
    assert_true(sample.view.is_error);
}

static void names_no_folder_of_the_host(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(
        &sample,
        "[{\"output_type\":\"error\",\"ename\":\"ToolError\","
        "\"evalue\":\"no\",\"traceback\":["
        "\"Cell In[3], line 1\\n----> 1 tools.a()\\n\","
        "\"File /opt/x/lib/hearth/python/hearth_kernel/tools.py:116, in "
        "_value(self)\\n--> 116 raise ToolError\\n\","
        "\"ToolError: no\"]}]");
    sample.cell.status = MODELVIEW_ERROR;
    assert_string_equal(view_sample_make(&sample),
                        "[3] Error 41 ms · session 7f3c · state kept\n"
                        "cell 3 line 1: tools.a()\n"
                        "hearth_kernel/tools.py:116 _value\n"
                        "ToolError: no");
}

static void keeps_the_text_of_a_syntax_error(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample,
                     "[{\"output_type\":\"error\",\"ename\":\"SyntaxError\","
                     "\"evalue\":\"invalid syntax\",\"traceback\":["
                     "\"  Cell In[1], line 1\\n    def f(:\\n          ^\\n"
                     "SyntaxError: invalid syntax\\n\"]}]");
    sample.cell.status = MODELVIEW_ERROR;
    assert_string_equal(view_sample_make(&sample),
                        "[3] Error 41 ms · session 7f3c · state kept\n"
                        "Cell In[1], line 1\n    def f(:\n          ^\n"
                        "SyntaxError: invalid syntax");
}

static void shows_an_error_without_frames_past_a_nul(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[{\"output_type\":\"error\",\"ename\":\"E\","
                              "\"traceback\":[]}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "evalue",
                        json_stringn("a\0b", 3));
    sample.cell.status = MODELVIEW_ERROR;
    assert_string_equal(view_sample_make(&sample),
                        "[3] Error 41 ms · session 7f3c · state kept\nE: ab");
}

static json_t *many_frames(int count)
{
    json_t *frames = json_array();

    for (int i = 0; i < count; i++) {
        cleanup_free char *frame = mem_format(
            "Cell In[3], line %d, in f(x)\n----> %d     return f(x - 1)\n", i,
            i);
        json_array_append_new(frames, json_string(frame));
    }
    return frames;
}

/* However much was printed, and however long the error's own text is. */
static void never_leaves_out_the_cause(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        view_sample_lines(100000));
    cleanup_free char *value = mem_new(50001);
    memset(value, 'v', 50000);
    memcpy(value, "begin", 5);
    memcpy(value + 49997, "end", 3);
    json_t *frames = many_frames(300);
    cleanup_free char *last = mem_format("ValueError: %s", value);
    json_array_append_new(frames, json_string(last));
    json_array_append_new(
        sample.outputs, json_pack("{s:s,s:s,s:o}", "output_type", "error",
                                  "ename", "ValueError", "traceback", frames));
    sample.cell.status = MODELVIEW_ERROR;
    sample.cell.tokens_max = 100000;
    const char *text = view_sample_make(&sample);
    assert_true(strlen(text) < 11000);
    assert_non_null(strstr(text, "\nline 1 of many\n"));
    assert_non_null(strstr(text, "steps before these left out: read_output "
                                 "ref=out:3.2"));
    assert_non_null(strstr(text, "cell 3 line 299, in f(x): return f(x - 1)"));
    assert_non_null(strstr(text, "\nValueError: begin"));
    assert_string_equal(text + strlen(text) - 4, "vend");
    sample.cell.tokens_max = 1;
    text = view_sample_make(&sample);
    assert_non_null(strstr(text, "\nValueError: begin"));
    assert_true(strlen(text) < 4200);
}

/* As %run does of a script that fails: the cell itself ends well. */
static void names_an_error_that_was_shown(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample,
                     "[{\"output_type\":\"error\",\"ename\":\"KeyError\","
                     "\"evalue\":\"1\",\"traceback\":[\"KeyError: 1\"]},"
                     "{\"output_type\":\"error\",\"ename\":\"E x\\n\","
                     "\"evalue\":\"2\",\"traceback\":[\"E: 2\"]},"
                     "{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 2), "text",
                        view_sample_lines(100000));
    const char *text = view_sample_make(&sample);
    assert_false(sample.view.is_error);
    assert_memory_equal(text,
                        "[3] ok 41 ms · session 7f3c · shows the traceback of "
                        "Ex\nKeyError: 1\nline 1 of many\n",
                        85);
    assert_non_null(strstr(text, "line 100000 of many\nE: 2"));
    assert_string_equal(text + strlen(text) - 4, "E: 2");
    json_object_del(json_array_get(sample.outputs, 1), "ename");
    text = view_sample_make(&sample);
    assert_non_null(strstr(text, " · shows the traceback of Error\n"));
    /* The header of one that goes on says how far it is. */
    sample.cell.status = MODELVIEW_RUNNING;
    assert_null(strstr(view_sample_make(&sample), "traceback"));
}

/* Each client reads the rest in its own way. */
static void a_marker_names_the_way_of_its_client(void **state)
{
    static const struct {
        read_hint_way_t way;
        const char *marker, *of_traceback;
    } rows[] = {
        {READ_HINT_TOOL,
         "read_output ref=out:3.2 from_line=", "read_output ref=out:3.1 …"},
        {READ_HINT_COMMAND, "hearth output 7f3c0d1e out:3.2 --from-line=",
         "hearth output 7f3c0d1e out:3.1 …"},
        {READ_HINT_PATH,
         "GET /base/hearth/sessions/7f3c0d1e/outputs/out:3.2?from_line=",
         "GET /base/hearth/sessions/7f3c0d1e/outputs/out:3.1 …"},
        {READ_HINT_METHOD, "session.read_output(\"out:3.2\", from_line=",
         "session.read_output(\"out:3.1\") …"},
    };
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[{\"output_type\":\"error\",\"ename\":\"E\"},"
                              "{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "traceback",
                        many_frames(300));
    json_object_set_new(json_array_get(sample.outputs, 1), "text",
                        view_sample_lines(10000));
    sample.cell.reading.session = "7f3c0d1e-0000-4000-8000-000000000000";
    sample.cell.reading.base = "/base";
    sample.cell.tokens_max = 20000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sample.cell.reading.way = rows[i].way;
        const char *text = view_sample_make(&sample);
        assert_non_null(strstr(text, " · session 7f3c0d1e · shows "));
        assert_non_null(strstr(text, rows[i].marker));
        assert_non_null(strstr(text, rows[i].of_traceback));
    }
}

static void reads_the_loss_that_a_session_reports(void **state)
{
    cleanup_sample view_sample_t sample;

    (void) state;
    view_sample_init(&sample, "[]");
    json_auto_t *lost =
        view_sample_load("{\"cause\":\"a limit\",\"names\":[\"df\"],"
                         "\"at\":\"2026-01-02T02:02:07.000000Z\","
                         "\"more\":3}");
    sample.loss = modelview_read_loss(lost);
    sample.cell.loss = &sample.loss;
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended 02:02:07Z (a limit); variables df and 3 more "
                        "gone; files kept");
    json_auto_t *unnamed = view_sample_load("{\"names\":[],\"more\":2}");
    sample.loss = modelview_read_loss(unnamed);
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; 2 variables gone; files kept");
    json_auto_t *unread =
        view_sample_load("{\"names\":[\"df\"],\"incomplete\":true}");
    sample.loss = modelview_read_loss(unread);
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; variable df gone; the journal is damaged, so "
                        "not all names are known; files kept");
    json_auto_t *revived =
        view_sample_load("{\"names\":[\"df\"],\"reviving\":true}");
    sample.loss = modelview_read_loss(revived);
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; variable df gone; being revived; files kept");
    json_auto_t *wrong =
        view_sample_load("{\"cause\":7,\"names\":{},\"at\":\"now\","
                         "\"more\":-1}");
    sample.loss = modelview_read_loss(wrong);
    assert_string_equal(view_sample_make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; files kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(begins_with_the_outcome_of_the_cell),
        cmocka_unit_test(says_how_far_a_running_cell_is),
        cmocka_unit_test(reports_a_loss_with_cause_and_names),
        cmocka_unit_test(reads_the_loss_that_a_session_reports),
        cmocka_unit_test(takes_only_names_from_the_session),
        cmocka_unit_test(marks_lines_that_pretend),
        cmocka_unit_test(folds_a_traceback),
        cmocka_unit_test(names_no_folder_of_the_host),
        cmocka_unit_test(keeps_the_text_of_a_syntax_error),
        cmocka_unit_test(shows_an_error_without_frames_past_a_nul),
        cmocka_unit_test(never_leaves_out_the_cause),
        cmocka_unit_test(names_an_error_that_was_shown),
        cmocka_unit_test(a_marker_names_the_way_of_its_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
