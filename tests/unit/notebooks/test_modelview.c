#include "notebooks/modelview/modelview.h"
#include "notebooks/modelview/token_weight.h"

#include "tests/lib/test.h"

#include <stdlib.h>
#include <string.h>

/* A view of outputs that are given as JSON. */
typedef struct {
    json_t *outputs, *reply, *names; /* owned */
    modelview_cell_t cell;
    modelview_loss_t loss;
    modelview_t view; /* owned */
} sample_t;

static json_t *load(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);

    if (!value)
        fail_msg("%s: %s", text, error.text);
    return value;
}

static void sample_init(sample_t *self, const char *outputs)
{
    *self = (sample_t){.outputs = load(outputs)};
    self->cell = (modelview_cell_t){.status = MODELVIEW_OK,
                                    .cell = 3,
                                    .duration_us = 41000,
                                    .reading.session = "7f3c",
                                    .outputs = self->outputs};
}

static void sample_clear(sample_t *self)
{
    modelview_clear(&self->view);
    json_decref(self->outputs);
    json_decref(self->reply);
    json_decref(self->names);
}
#define cleanup_sample CLEANUP(sample_clear)

static const char *make(sample_t *self)
{
    modelview_clear(&self->view);
    modelview_make(&self->cell, &self->view);
    return (const char *) self->view.text.data;
}

static size_t count_lines(const char *text)
{
    size_t count = 1;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* --- The header --- */

static void begins_with_the_outcome_of_the_cell(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[]");
    assert_string_equal(make(&sample), "[3] ok 41 ms · session 7f3c");
    sample.cell.is_new_session = true;
    sample.cell.namespace = sample.names =
        load("{\"appeared\":[{\"name\":\"df\"}],\"changed\":[{\"name\":\"n\"}],"
             "\"went\":[\"x\"]}");
    assert_string_equal(make(&sample),
                        "[3] ok 41 ms · session 7f3c (new) · +df ~n -x");
    assert_false(sample.view.is_error);
    sample.cell.namespace = NULL;
    sample.cell.is_new_session = false;
    sample.cell.duration_us = 1234567;
    sample.cell.status = MODELVIEW_TIMEOUT;
    assert_string_equal(
        make(&sample),
        "[3] TIMEOUT interrupted 1.2 s · session 7f3c · state kept");
    assert_true(sample.view.is_error);
}

static void says_how_far_a_running_cell_is(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample,
                "[{\"output_type\":\"stream\",\"name\":\"stdout\","
                "\"text\":\"epoch 1\\nepoch 2\\repoch 12/100 loss 0.31\\n\"}]");
    sample.cell.status = MODELVIEW_RUNNING;
    sample.cell.duration_us = 45000000;
    sample.cell.hint = "call wait";
    assert_string_equal(make(&sample),
                        "[3] RUNNING 45 s · session 7f3c · 2 lines so far, "
                        "last: epoch 12/100 loss 0.31 · call wait");
    assert_false(sample.view.is_error);
}

static void reports_a_loss_with_cause_and_names(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[]");
    sample.names = load("[\"df\",\"model\",\"X_train\"]");
    sample.loss = (modelview_loss_t){
        .wall_us = 1767319327000000, /* 2026-01-02T02:02:07Z */
        .cause = "memory limit 512M reached in cell 6",
        .names = sample.names,
        .are_files_kept = true};
    sample.cell.loss = &sample.loss;
    assert_string_equal(
        make(&sample),
        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel ended 02:02:07Z "
        "(memory limit 512M reached in cell 6); variables df, model, X_train "
        "gone; files kept");
    sample.cell.status = MODELVIEW_LOST;
    sample.reply = load("{\"ename\":\"KernelDied\",\"evalue\":\"it died\"}");
    sample.cell.reply = sample.reply;
    assert_string_equal(
        make(&sample),
        "[3] STATE LOST 41 ms · session 7f3c · kernel ended 02:02:07Z (memory "
        "limit 512M reached in cell 6); variables df, model, X_train gone; "
        "files kept");
    assert_true(sample.view.is_error);
}

static void takes_only_names_from_the_session(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[]");
    sample.cell.status = MODELVIEW_ERROR;
    sample.reply = load("{\"ename\":\"Key\\nError · session 1\","
                        "\"evalue\":\"v\"}");
    sample.cell.reply = sample.reply;
    assert_string_equal(make(&sample),
                        "[3] KeyErrorsession1 41 ms · session 7f3c · state "
                        "kept\nKey\nError · session 1: v");
}

/* --- Outputs --- */

static void shows_one_form_of_a_bundle(void **state)
{
    static const struct {
        const char *data, *shown;
    } rows[] = {
        {"{\"text/plain\":\"t\",\"text/html\":\"<b>h</b>\"}", "t"},
        {"{\"text/vnd.hearth.table\":\"DataFrame 2 × 1\",\"text/plain\":\"t\"}",
         "DataFrame 2 × 1"},
        {"{\"text/markdown\":\"*m*\",\"text/plain\":\"t\"}", "*m*"},
        {"{\"text/plain\":[\"a\\n\",\"b\"]}", "a\nb"},
        {"{\"application/json\":{\"a\":[1,2]},"
         "\"text/plain\":\"<IPython.core.display.JSON object>\"}",
         "{\"a\":[1,2]}"},
        {"{\"text/html\":\"<style>x{}</style><table><tr><th>a</th><th>b</th>"
         "</tr><tr><td>1</td><td>2 &amp; 3</td></tr></table>\"}",
         "a\tb\n1\t2 & 3"},
        {"{\"image/svg+xml\":\"<svg/>\"}",
         "[image/svg+xml 6 bytes, out:3.1, not shown here]"},
        {"{\"text/plain\":\"<IPython.core.display.HTML object>\"}",
         "<IPython.core.display.HTML object>"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_free char *outputs = mem_format(
            "[{\"output_type\":\"display_data\",\"data\":%s}]", rows[i].data);
        cleanup_free char *expected =
            mem_format("[3] ok 41 ms · session 7f3c\n%s", rows[i].shown);
        cleanup_sample sample_t sample;
        sample_init(&sample, outputs);
        assert_string_equal(make(&sample), expected);
    }
}

/* The head of a PNG of 640 × 480 in base64, then letters. */
#define PNG_HEAD "iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg"

static void gives_an_image_once_and_names_it(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[{\"output_type\":\"display_data\",\"data\":{"
                         "\"text/plain\":\"<Figure size 640x480>\","
                         "\"image/png\":\"" PNG_HEAD "AAAA\"}}]");
    assert_string_equal(make(&sample), "[3] ok 41 ms · session 7f3c\n"
                                       "[image 640×480 png 27 bytes, out:3.1]");
    assert_int_equal(sample.view.image_count, 1);
    assert_string_equal(sample.view.images[0].ref, "out:3.1");
    assert_string_equal(sample.view.images[0].mime, "image/png");
    assert_true(sample.view.images[0].is_inline);
    assert_int_equal(sample.view.images[0].base64_size, 36);
}

static void gives_large_images_and_many_by_link(void **state)
{
    cleanup_sample sample_t sample;
    const size_t size = 400000;
    cleanup_free char *base64 = mem_new(size + 1);

    (void) state;
    sample_init(&sample, "[]");
    memset(base64, 'A', size);
    memcpy(base64, PNG_HEAD, strlen(PNG_HEAD));
    json_array_append_new(
        sample.outputs, json_pack("{s:s,s:{s:s}}", "output_type",
                                  "display_data", "data", "image/png", base64));
    for (size_t i = 0; i < 5; i++)
        json_array_append_new(sample.outputs,
                              json_pack("{s:s,s:{s:s}}", "output_type",
                                        "display_data", "data", "image/png",
                                        PNG_HEAD));
    make(&sample);
    assert_int_equal(sample.view.image_count, 6);
    assert_false(sample.view.images[0].is_inline);
    for (size_t i = 1; i < 5; i++)
        assert_true(sample.view.images[i].is_inline);
    assert_false(sample.view.images[5].is_inline);
    assert_non_null(strstr((char *) sample.view.text.data,
                           "300 KB, out:3.1, not shown here]"));
}

static void prefers_the_form_of_an_image_that_is_small(void **state)
{
    cleanup_sample sample_t sample;
    const size_t size = 400000;
    cleanup_free char *base64 = mem_new(size + 1);

    (void) state;
    sample_init(&sample, "[]");
    memset(base64, 'A', size);
    memcpy(base64, PNG_HEAD, strlen(PNG_HEAD));
    json_array_append_new(sample.outputs,
                          json_pack("{s:s,s:{s:s,s:s},s:{s:{s:i,s:i}}}",
                                    "output_type", "display_data", "data",
                                    "image/png", base64, "image/webp", "AAAA",
                                    "metadata", "image/webp", "width", 800,
                                    "height", 600));
    assert_string_equal(make(&sample), "[3] ok 41 ms · session 7f3c\n"
                                       "[image 800×600 webp 3 bytes, out:3.1]");
    assert_true(sample.view.images[0].is_inline);
}

static void folds_repeated_lines(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[{\"output_type\":\"stream\",\"text\":\"\"}]");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    for (int i = 0; i < 512; i++)
        buffer_text(&text, "same\n");
    buffer_text(&text, "two\ntwo\nend\n");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_stringn((char *) text.data, text.size));
    assert_string_equal(make(&sample), "[3] ok 41 ms · session 7f3c\n"
                                       "same ×512\ntwo\ntwo\nend");
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

static json_t *many_lines(unsigned count)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    for (unsigned i = 1; i <= count; i++)
        buffer_format(&text, "line %u of many\n", i);
    return json_stringn((char *) text.data, text.size);
}

static void cuts_between_head_and_tail(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        many_lines(10000));
    sample.cell.tokens_max = 400;
    const char *text = make(&sample);
    assert_in_range(token_weight(text_bytes(text)), TOKEN_WEIGHT(370),
                    TOKEN_WEIGHT(430));
    assert_non_null(strstr(text, "\nline 1 of many\n"));
    assert_non_null(strstr(text, "\nline 10000 of many"));
    assert_non_null(strstr(text, " lines ("));
    assert_non_null(strstr(text, " left out: read_output ref=out:3.1 "
                                 "from_line="));
    /* What the marker names is the first line that is missing. */
    unsigned next =
        (unsigned) strtoul(strstr(text, "from_line=") + 10, NULL, 10);
    cleanup_free char *last = mem_format("\nline %u of many\n", next - 1);
    cleanup_free char *missing = mem_format("\nline %u of many\n", next);
    assert_non_null(strstr(text, last));
    assert_null(strstr(text, missing));
    unsigned long long left = 10000 - (count_lines(text) - 2);
    cleanup_free char *number =
        mem_format("… %llu,%03llu lines", left / 1000, left % 1000);
    assert_non_null(strstr(text, number));
}

/* A line that the head has no room for is not overtaken by a shorter one. */
static void keeps_the_order_of_lines(void **state)
{
    cleanup_sample sample_t sample;
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;

    (void) state;
    buffer_text(&lines, "first\n");
    for (unsigned i = 0; i < 70; i++)
        buffer_text(&lines, "word ");
    buffer_text(&lines, "\nlast\n");
    sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_stringn((char *) lines.data, lines.size));
    sample.cell.tokens_max = 200;
    const char *text = make(&sample);
    const char *word = strstr(text, "\nword ");
    assert_non_null(word);
    assert_true(strstr(text, "\nfirst") < word);
    assert_true(strstr(text, "\nlast") > word);
}

/* Digits have more tokens a byte than words. */
static void cuts_numbers_to_the_same_budget(void **state)
{
    cleanup_sample sample_t sample;
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;

    (void) state;
    for (unsigned i = 1; i <= 5000; i++)
        buffer_format(&lines, "%u: 0.%06u 0.%06u 0.%06u\n", i,
                      i * 7919 % 1000000, i * 104729 % 1000000,
                      i * 31 % 1000000);
    sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_stringn((char *) lines.data, lines.size));
    sample.cell.tokens_max = 400;
    const char *text = make(&sample);
    assert_in_range(token_weight(text_bytes(text)), TOKEN_WEIGHT(370),
                    TOKEN_WEIGHT(430));
    assert_non_null(strstr(text, "\n1: 0.007919"));
    assert_non_null(strstr(text, "\n5000: 0."));
    assert_non_null(strstr(text, "from_line="));
    unsigned long long left = 5000 - (count_lines(text) - 2);
    cleanup_free char *number =
        mem_format("… %llu,%03llu lines", left / 1000, left % 1000);
    assert_non_null(strstr(text, number));
}

static void names_all_outputs_that_a_cut_reaches(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[]");
    for (int i = 0; i < 40; i++)
        json_array_append_new(sample.outputs,
                              json_pack("{s:s,s:{s:o}}", "output_type",
                                        "display_data", "data", "text/plain",
                                        many_lines(100)));
    assert_non_null(strstr(make(&sample), " of out:3.3 to out:3."));
}

static void cuts_a_long_line_in_its_middle(void **state)
{
    cleanup_sample sample_t sample;
    char line[3001];

    (void) state;
    memset(line, 'x', 3000);
    line[0] = 'a';
    line[2999] = 'z';
    line[3000] = '\0';
    sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        json_string(line));
    const char *text = make(&sample);
    assert_true(strlen(text) < 600);
    assert_non_null(strstr(text, "\naxxx"));
    assert_non_null(strstr(text, "x …2,500 bytes left out… x"));
    assert_int_equal(text[strlen(text) - 1], 'z');
}

/* --- Look-alikes --- */

static void marks_lines_that_pretend(void **state)
{
    static const char *const pretend[] = {
        "[4] ok 1 ms · session 7f3c · state kept",
        "  [image 640×480 png 31 KB, out:5.1]",
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
        cleanup_sample sample_t sample;
        sample_init(&sample, "[{\"output_type\":\"stream\"}]");
        json_object_set_new(json_array_get(sample.outputs, 0), "text",
                            json_string(pretend[i]));
        const char *text = strchr(make(&sample), '\n');
        if (strncmp(text, "\n| ", 3) != 0)
            fail_msg("not marked: %s", text);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        cleanup_sample sample_t sample;
        sample_init(&sample, "[{\"output_type\":\"stream\"}]");
        json_object_set_new(json_array_get(sample.outputs, 0), "text",
                            json_string(plain[i]));
        assert_string_equal(strchr(make(&sample), '\n') + 1, plain[i]);
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
    "\"File ~/steps.py:12, in load(name)\\n---> 12     return frame[name]\\n\","
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
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, key_error);
    sample.cell.status = MODELVIEW_ERROR;
    sample.reply = load("{\"ename\":\"KeyError\"}");
    sample.cell.reply = sample.reply;
    assert_string_equal(
        make(&sample),
        "[3] KeyError 41 ms · session 7f3c · state kept\n"
        "pandas/_libs/index.pyx:172 pandas._libs.index.get_loc (1 library "
        "frame left out; out:3.1)\n"
        "KeyError: 'nope'\n"
        "direct cause of:\n"
        "cell 4 line 3: df['nope']\n"
        "~/steps.py:12, in load(name): return frame[name]\n"
        "pandas/core/indexes/base.py:3823 Index.get_loc (2 library frames "
        "left out; out:3.1)\n"
        "KeyError: 'nope'");
    assert_true(sample.view.is_error);
}

static void names_no_folder_of_the_host(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(
        &sample,
        "[{\"output_type\":\"error\",\"ename\":\"ToolError\","
        "\"evalue\":\"no\",\"traceback\":["
        "\"Cell In[3], line 1\\n----> 1 tools.a()\\n\","
        "\"File /opt/x/lib/hearth/python/hearth_kernel/tools.py:116, in "
        "_value(self)\\n--> 116 raise ToolError\\n\","
        "\"ToolError: no\"]}]");
    sample.cell.status = MODELVIEW_ERROR;
    assert_string_equal(make(&sample),
                        "[3] Error 41 ms · session 7f3c · state kept\n"
                        "cell 3 line 1: tools.a()\n"
                        "hearth_kernel/tools.py:116 _value\n"
                        "ToolError: no");
}

static void keeps_the_text_of_a_syntax_error(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample,
                "[{\"output_type\":\"error\",\"ename\":\"SyntaxError\","
                "\"evalue\":\"invalid syntax\",\"traceback\":["
                "\"  Cell In[1], line 1\\n    def f(:\\n          ^\\n"
                "SyntaxError: invalid syntax\\n\"]}]");
    sample.cell.status = MODELVIEW_ERROR;
    assert_string_equal(make(&sample),
                        "[3] Error 41 ms · session 7f3c · state kept\n"
                        "Cell In[1], line 1\n    def f(:\n          ^\n"
                        "SyntaxError: invalid syntax");
}

static void shows_an_error_without_frames_past_a_nul(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[{\"output_type\":\"error\",\"ename\":\"E\","
                         "\"traceback\":[]}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "evalue",
                        json_stringn("a\0b", 3));
    sample.cell.status = MODELVIEW_ERROR;
    assert_string_equal(make(&sample),
                        "[3] Error 41 ms · session 7f3c · state kept\nE: ab");
}

/* However much was printed, and however long the error's own text is. */
static void never_leaves_out_the_cause(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "text",
                        many_lines(100000));
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
    const char *text = make(&sample);
    assert_true(strlen(text) < 11000);
    assert_non_null(strstr(text, "\nline 1 of many\n"));
    assert_non_null(strstr(text, "steps before these left out: read_output "
                                 "ref=out:3.2"));
    assert_non_null(strstr(text, "cell 3 line 299, in f(x): return f(x - 1)"));
    assert_non_null(strstr(text, "\nValueError: begin"));
    assert_string_equal(text + strlen(text) - 4, "vend");
    sample.cell.tokens_max = 1;
    text = make(&sample);
    assert_non_null(strstr(text, "\nValueError: begin"));
    assert_true(strlen(text) < 4200);
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
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[{\"output_type\":\"error\",\"ename\":\"E\"},"
                         "{\"output_type\":\"stream\"}]");
    json_object_set_new(json_array_get(sample.outputs, 0), "traceback",
                        many_frames(300));
    json_object_set_new(json_array_get(sample.outputs, 1), "text",
                        many_lines(10000));
    sample.cell.reading.session = "7f3c0d1e-0000-4000-8000-000000000000";
    sample.cell.reading.base = "/base";
    sample.cell.tokens_max = 20000;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sample.cell.reading.way = rows[i].way;
        const char *text = make(&sample);
        assert_non_null(strstr(text, " · session 7f3c0d1e\n"));
        assert_non_null(strstr(text, rows[i].marker));
        assert_non_null(strstr(text, rows[i].of_traceback));
    }
}

static void reads_the_loss_that_a_session_reports(void **state)
{
    cleanup_sample sample_t sample;

    (void) state;
    sample_init(&sample, "[]");
    json_auto_t *lost = load("{\"cause\":\"a limit\",\"names\":[\"df\"],"
                             "\"at\":\"2026-01-02T02:02:07.000000Z\","
                             "\"more\":3}");
    sample.loss = modelview_read_loss(lost);
    sample.cell.loss = &sample.loss;
    assert_string_equal(make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended 02:02:07Z (a limit); variables df and 3 more "
                        "gone; files kept");
    json_auto_t *unnamed = load("{\"names\":[],\"more\":2}");
    sample.loss = modelview_read_loss(unnamed);
    assert_string_equal(make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; 2 variables gone; files kept");
    json_auto_t *unread = load("{\"names\":[\"df\"],\"incomplete\":true}");
    sample.loss = modelview_read_loss(unread);
    assert_string_equal(make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; variable df gone; the journal is damaged, so "
                        "not all names are known; files kept");
    json_auto_t *revived = load("{\"names\":[\"df\"],\"reviving\":true}");
    sample.loss = modelview_read_loss(revived);
    assert_string_equal(make(&sample),
                        "[3] ok 41 ms · session 7f3c · STATE LOST: kernel "
                        "ended; variable df gone; being revived; files kept");
    json_auto_t *wrong = load("{\"cause\":7,\"names\":{},\"at\":\"now\","
                              "\"more\":-1}");
    sample.loss = modelview_read_loss(wrong);
    assert_string_equal(make(&sample),
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
        cmocka_unit_test(shows_one_form_of_a_bundle),
        cmocka_unit_test(gives_an_image_once_and_names_it),
        cmocka_unit_test(gives_large_images_and_many_by_link),
        cmocka_unit_test(prefers_the_form_of_an_image_that_is_small),
        cmocka_unit_test(folds_repeated_lines),
        cmocka_unit_test(cuts_between_head_and_tail),
        cmocka_unit_test(keeps_the_order_of_lines),
        cmocka_unit_test(cuts_numbers_to_the_same_budget),
        cmocka_unit_test(names_all_outputs_that_a_cut_reaches),
        cmocka_unit_test(cuts_a_long_line_in_its_middle),
        cmocka_unit_test(marks_lines_that_pretend),
        cmocka_unit_test(folds_a_traceback),
        cmocka_unit_test(names_no_folder_of_the_host),
        cmocka_unit_test(keeps_the_text_of_a_syntax_error),
        cmocka_unit_test(shows_an_error_without_frames_past_a_nul),
        cmocka_unit_test(never_leaves_out_the_cause),
        cmocka_unit_test(a_marker_names_the_way_of_its_client),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
