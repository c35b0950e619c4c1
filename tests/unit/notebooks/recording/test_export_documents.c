/* Documents for people: Markdown and pages. */
#include "tests/lib/export_steps.h"

#include <string.h>

static void markdown_cannot_be_left(void **state)
{
    cleanup_free char *path = mem_format("%s/journal", (char *) *state);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    export_steps_ask(journal, 1, "{\"code\":\"print('```')\"}");
    export_steps_say(
        journal, 1, "stream",
        "{\"name\":\"stdout\",\"text\":\"\\u001b[31mred\\u001b[0m\\n"
        "```` \\u009b1m\\u001b]0;t\\u0007x\\n10%\\r100%\\r\\nend\\n"
        "3 MiB\\r     \\r\"}");
    export_steps_say(journal, 1, "stream",
                     "{\"name\":\"stderr\",\"text\":\"left\\r\"}");
    export_steps_answer(journal, 1,
                        "{\"status\":\"ok\",\"execution_count\":1}");
    export_steps_oddities(journal);
    journal_destroy(&journal);
    assert_int_equal(export_steps_text(path, EXPORT_MARKDOWN, &out, &fault), 0);
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
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    export_steps_ask(journal, 1, "{\"code\":\"x\"}");
    export_steps_say(journal, 1, "display_data",
                     "{\"data\":{\"text/plain\":\"x\","
                     "\"image/png;<img src=x onerror=alert(1)>\":\"aGk=\"},"
                     "\"metadata\":{}}");
    export_steps_say(
        journal, 1, "display_data",
        "{\"data\":{\"image/`<b>\\n# x&amp;\":\"aGk=\"},\"metadata\":{}}");
    export_steps_answer(journal, 1,
                        "{\"status\":\"ok\",\"execution_count\":1}");
    journal_destroy(&journal);
    assert_int_equal(export_steps_text(path, EXPORT_MARKDOWN, &out, &fault), 0);
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
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    export_steps_append(journal, JOURNAL_STATE, 0, "ready",
                        "{\"language_info\":{\"name\":\"\\\"><evil>\"}}", "");
    export_steps_ask(journal, 1, "{\"code\":\"x\"}");
    export_steps_say(
        journal, 1, "display_data",
        "{\"data\":{\"text/vnd.mermaid\":\"evil\",\"text/plain\":\"good\","
        "\"application/javascript\":\"evil\","
        "\"text/html;x\":\"evil\","
        "\"application/vnd.jupyter.widget-view+json\":{\"evil\":1}},"
        "\"metadata\":{\"evil\":1}}");
    export_steps_say(
        journal, 1, "execute_result",
        "{\"execution_count\":1,\"data\":{\"image/png\":\"aGk=\"},"
        "\"metadata\":{\"image/png\":{\"width\":\"1 onerror=evil\","
        "\"height\":7}}}");
    export_steps_say(journal, 1, "stream",
                     "{\"name\":\"stdout\",\"text\":\"printed\"}");
    export_steps_answer(journal, 1,
                        "{\"status\":\"ok\",\"execution_count\":1}");
    journal_destroy(&journal);
    assert_int_equal(export_steps_text(path, EXPORT_PAGE, &out, &fault), 0);
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
    journal_t *journal = export_steps_open(*state);
    fault_t fault = {0};

    export_steps_append(
        journal, JOURNAL_STATE, 0, "note",
        "{\"text\":\"x\",\"call\":{\"name\":\"hearth:packages\",\"result\":"
        "{\"status\":\"ok\",\"packages\":[{\"name\":\"a\",\"version\":"
        "\"1\",\"sha256\":\"5e\"},{\"name\":\"b\",\"version\":\"2\"}]}}}",
        "");
    export_steps_append(
        journal, JOURNAL_STATE, 0, "file",
        "{\"what\":\"fetch\",\"outcome\":\"ok\",\"path\":\"<t>`\",\"url\":"
        "\"https://x/t?k\",\"sha256\":\"5f\",\"size\":4}",
        "");
    export_steps_append(
        journal, JOURNAL_STATE, 0, "file",
        "{\"what\":\"clone\",\"outcome\":\"ok\",\"path\":\"r\",\"url\":"
        "\"https://x/r\",\"commit\":\"c0\"}",
        "");
    export_steps_append(
        journal, JOURNAL_STATE, 0, "file",
        "{\"what\":\"clone\",\"outcome\":\"ok\",\"path\":\"s\",\"url\":"
        "\"https://x/s\",\"commit\":\"c1\",\"depth\":2,\"lfs\":true,"
        "\"submodules\":true}",
        "");
    journal_destroy(&journal);
    assert_int_equal(export_steps_text(path, EXPORT_MARKDOWN, &text, &fault),
                     0);
    assert_non_null(
        strstr((char *) text.data,
               "From outside:\n\n- `package a 1, SHA-256 5e`\n- `package b 2`\n"
               "- `file t of https://x/t, 4 bytes, SHA-256 5f`\n"
               "- `repository r of https://x/r, commit c0`\n"
               "- `repository s of https://x/s, commit c1, depth 2, with Git "
               "LFS, with submodules`\n"));
    assert_int_equal(export_steps_text(path, EXPORT_PAGE, &page, &fault), 0);
    assert_non_null(strstr((char *) page.data,
                           "<p>From outside: package a 1, SHA-256 5e</p>"));
    assert_non_null(strstr((char *) page.data, "file &lt;t&gt;` of"));
}

#define with_folder(test)                                                      \
    cmocka_unit_test_setup_teardown(test, recorded_make_folder,                \
                                    recorded_remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_folder(markdown_cannot_be_left),
        with_folder(markdown_names_types_in_a_code_span),
        with_folder(what_came_from_outside_is_listed),
        with_folder(a_page_has_no_active_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
