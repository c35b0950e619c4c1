#include "gateway/http/core/body_file.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static deposits_t all;

static int begin(void **state)
{
    (void) state;
    all = (deposits_t){.folder = "/tmp", .max = 8u << 20};
    return 0;
}

static void destroy(deposit_t **deposit_p)
{
    deposit_destroy(deposit_p);
}
#define cleanup_deposit CLEANUP(destroy)

static deposit_t *fed(const void *bytes, size_t size, size_t step)
{
    deposit_t *deposit = deposit_new(&all, 0);

    assert_non_null(deposit);
    for (size_t at = 0; at < size; at += step)
        deposit_feed(deposit, (const char *) bytes + at,
                     size - at < step ? size - at : step);
    return deposit;
}

static void read_content(const deposit_t *deposit, content_t *content,
                         buffer_t *out)
{
    fault_t fault;
    int r;

    deposit_lend(deposit, content);
    while ((r = content_next(content, out, &fault)) > 0)
        continue;
    assert_int_equal(r, 0);
    content_reset(content);
}

/* However it is cut, this is its model and that its content. */
static void assert_parts(const char *json, const char *model, const char *bytes)
{
    for (size_t step = 1; step <= strlen(json); step++) {
        cleanup_deposit deposit_t *deposit = fed(json, strlen(json), step);
        cleanup_buffer buffer_t out = BUFFER_EMPTY;
        content_t content = {.kind = CONTENT_TEXT};
        json_span_t found;
        fault_t fault;

        assert_int_equal(deposit_end(deposit, &found, &fault), 0);
        assert_int_equal(found.size, strlen(model));
        assert_memory_equal(found.text, model, found.size);
        if (!bytes)
            continue;
        content.span = json_member(found, "content");
        assert_true(json_is(content.span, JSON_KIND_STRING));
        read_content(deposit, &content, &out);
        assert_int_equal(out.size, strlen(bytes));
        assert_memory_equal(out.data, bytes, out.size);
    }
}

static void parts_a_content_from_its_model(void **state)
{
    (void) state;
    assert_parts("{\"type\":\"file\",\"content\":\"ab\\nc\",\"format\":1}",
                 "{\"type\":\"file\",\"content\":\"\",\"format\":1}", "ab\nc");
    assert_parts(" { \"content\" : \"x\" } ", "{ \"content\" : \"\" }", "x");
    assert_parts("{\"content\":\"\"}", "{\"content\":\"\"}", "");
    assert_parts("{\"\\u0063ontent\":\"\\\"\\\\\"}", "{\"\\u0063ontent\":\"\"}",
                 "\"\\");
    /* The last one counts. */
    assert_parts("{\"content\":\"long\",\"content\":\"x\"}",
                 "{\"content\":\"\",\"content\":\"\"}", "x");
    assert_parts("{\"content\":{\"a\":[1]},\"content\":\"x\"}",
                 "{\"content\":{},\"content\":\"\"}", "x");
}

static void leaves_what_is_short_or_elsewhere(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"content\":null}",
        "{\"content\":-12.5e3,\"a\":true}",
        "{\"a\":{\"content\":\"x\"},\"b\":[{\"content\":\"y\"}]}",
        "{\"contents\":\"x\",\"conten\":\"y\",\"\":\"z\",\"a\":\"content\"}",
        "{\"a\":\"\\\"content\\\":\",\"b\":[]}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_parts(texts[i], texts[i], NULL);
    assert_parts("{\"content\":[1,\"a\"],\"x\":0}", "{\"content\":[],\"x\":0}",
                 NULL);
}

static void refuses_what_is_no_object(void **state)
{
    static const char *const texts[] = {
        "",
        "[]",
        "1",
        "{\"content\":\"x\"",
        "{\"content\":\"x}",
        "{\"content\":\"x\"}}",
        "{\"content\":\"\x01\"}",
        "{\"content\":\"\xff\"}",
        "{\"content\":\"\xc3\"}",
        "{\"content\":\"\\x\"}",
        "{\"content\":[}",
        "{\"content\" \"x\"}",
        "{content:\"x\"}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (size_t step = 1; step < 20; step += 18) {
            cleanup_deposit deposit_t *deposit =
                fed(texts[i], strlen(texts[i]), step);
            json_span_t model;
            fault_t fault;
            assert_int_equal(deposit_end(deposit, &model, &fault), -EBADMSG);
            assert_true(fault.text[0] != '\0');
        }
}

/* What is longer than memory may be is the same out of a file; whatever is cut
 * where one piece of it ends. */
static void puts_a_long_one_into_a_file(void **state)
{
    static const char *const units[] = {"\\ud83d\\ude00", "ab\\n",
                                        "\xe2\x82\xac"};

    (void) state;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        for (size_t shift = 0; shift < 12; shift++) {
            cleanup_buffer buffer_t json = BUFFER_EMPTY,
                                    expected = BUFFER_EMPTY, out = BUFFER_EMPTY;
            content_t content = {.kind = CONTENT_TEXT};
            json_span_t whole, model;
            fault_t fault;

            buffer_text(&json, "{\"content\":\"");
            for (size_t k = 0; k < shift; k++)
                buffer_text(&json, "x");
            while (json.size < 4 * (size_t) DEPOSIT_MEMORY)
                buffer_text(&json, units[i]);
            buffer_text(&json, "\",\"type\":\"file\"}");
            assert_int_equal(json_check(json.data, json.size, &whole, &fault),
                             0);
            json_text(json_member(whole, "content"), &expected);
            cleanup_deposit deposit_t *deposit =
                fed(json.data, json.size, 30011);
            assert_true(all.taken >= 3 * (size_t) DEPOSIT_MEMORY);
            assert_int_equal(deposit_end(deposit, &model, &fault), 0);
            assert_true(json_text_equals(json_member(model, "type"), "file"));
            content.span = json_member(model, "content");
            read_content(deposit, &content, &out);
            assert_int_equal(out.size, expected.size);
            assert_memory_equal(out.data, expected.data, out.size);
        }
    assert_int_equal(all.taken, 0);
}

static void writes_a_long_notebook_as_a_short_one(void **state)
{
    cleanup_buffer buffer_t json = BUFFER_EMPTY, expected = BUFFER_EMPTY,
                            out = BUFFER_EMPTY;
    content_t whole = {.kind = CONTENT_NOTEBOOK}, parted = whole;
    json_span_t object, model;
    fault_t fault;

    (void) state;
    buffer_text(&json, "{\"content\":{\"cells\":[0");
    while (json.size < 4 * (size_t) DEPOSIT_MEMORY)
        buffer_text(&json, ",{\"s\":\"a\\\"{[,:\\\\\" ,\"o\":[ ]}");
    buffer_text(&json, "]}}");
    assert_int_equal(json_check(json.data, json.size, &object, &fault), 0);
    whole.span = json_member(object, "content");
    while (content_next(&whole, &expected, &fault) > 0)
        continue;
    cleanup_deposit deposit_t *deposit = fed(json.data, json.size, 30011);
    assert_int_equal(deposit_end(deposit, &model, &fault), 0);
    parted.span = json_member(model, "content");
    assert_true(json_is(parted.span, JSON_KIND_OBJECT));
    read_content(deposit, &parted, &out);
    assert_int_equal(out.size, expected.size);
    assert_memory_equal(out.data, expected.data, out.size);
}

static void feed_spaces(deposit_t *deposit, size_t size)
{
    char text[4096];

    memset(text, ' ', sizeof text);
    for (; size >= sizeof text; size -= sizeof text)
        deposit_feed(deposit, text, sizeof text);
}

static void bounds_what_stands_beside_the_content(void **state)
{
    cleanup_deposit deposit_t *deposit = fed("{", 1, 1);
    json_span_t model;
    fault_t fault;

    (void) state;
    feed_spaces(deposit, 2 * (size_t) DEPOSIT_MODEL);
    deposit_feed(deposit, "}", 1);
    assert_int_equal(deposit_end(deposit, &model, &fault), -E2BIG);
}

static void bounds_what_all_take_together(void **state)
{
    cleanup_deposit deposit_t *one = deposit_new(&all, 5u << 20);
    json_span_t model;
    fault_t fault;

    (void) state;
    assert_non_null(one);
    assert_null(deposit_new(&all, 4u << 20));
    cleanup_deposit deposit_t *two = deposit_new(&all, 3u << 20);
    assert_non_null(two);
    /* One whose length nobody knew. */
    cleanup_deposit deposit_t *three = fed("{\"content\":\"", 12, 12);
    feed_spaces(three, 1u << 20);
    deposit_feed(three, "\"}", 2);
    assert_int_equal(deposit_end(three, &model, &fault), -EBUSY);
    deposit_destroy(&one);
    deposit_destroy(&two);
    deposit_destroy(&three);
    assert_int_equal(all.taken, 0);
}

static void says_that_there_is_no_disk(void **state)
{
    json_span_t model;
    fault_t fault;

    (void) state;
    all.folder = "/nonexistent";
    cleanup_deposit deposit_t *deposit = fed("{\"content\":\"", 12, 12);
    feed_spaces(deposit, 1u << 20);
    deposit_feed(deposit, "\"}", 2);
    assert_int_equal(deposit_end(deposit, &model, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nonexistent"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(parts_a_content_from_its_model, begin),
        cmocka_unit_test_setup(leaves_what_is_short_or_elsewhere, begin),
        cmocka_unit_test_setup(refuses_what_is_no_object, begin),
        cmocka_unit_test_setup(puts_a_long_one_into_a_file, begin),
        cmocka_unit_test_setup(writes_a_long_notebook_as_a_short_one, begin),
        cmocka_unit_test_setup(bounds_what_stands_beside_the_content, begin),
        cmocka_unit_test_setup(bounds_what_all_take_together, begin),
        cmocka_unit_test_setup(says_that_there_is_no_disk, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
