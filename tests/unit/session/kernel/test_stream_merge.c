#include "gateway/session/kernel/stream_merge.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kernel_permissions_stream_t stream(const char *name, const char *text)
{
    return (kernel_permissions_stream_t){
        .name = {name, strlen(name), JSPAN_STRING},
        .text = {text, strlen(text), JSPAN_STRING},
    };
}

static frame_t frame(uint64_t request, uint64_t seq)
{
    return (frame_t){.type = FRAME_STREAM, .request = request, .seq = seq};
}

static void add(stream_merge_t *merge, frame_t from, const char *name,
                const char *text)
{
    kernel_permissions_stream_t piece = stream(name, text);

    stream_merge_add(merge, &from, &piece);
}

static bool joins(stream_merge_t *merge, frame_t from, const char *name,
                  const char *text)
{
    kernel_permissions_stream_t piece = stream(name, text);

    return stream_merge_joins(merge, &from, &piece);
}

static void merges_text_as_it_came(void **state)
{
    cleanup_stream_merge stream_merge_t *merge = stream_merge_new();
    bytes_t content;

    (void) state;
    assert_false(stream_merge_is_open(merge));
    assert_int_equal(stream_merge_bytes(merge), 0);
    add(merge, frame(7, 3), "\"stdout\"", "\"a\\n\"");
    add(merge, frame(7, 4), "\"stdout\"", "\"\\u00e9\"");
    assert_true(stream_merge_is_open(merge));
    assert_int_equal(stream_merge_request(merge), 7);
    assert_int_equal(stream_merge_seq(merge), 4);
    content = stream_merge_close(merge);
    assert_int_equal(content.size, strlen("{\"name\":\"stdout\","
                                          "\"text\":\"a\\n\\u00e9\"}"));
    assert_memory_equal(content.bytes,
                        "{\"name\":\"stdout\",\"text\":\"a\\n\\u00e9\"}",
                        content.size);
    stream_merge_clear(merge);
    assert_false(stream_merge_is_open(merge));
    assert_int_equal(stream_merge_bytes(merge), 0);
}

static void names_the_stream(void **state)
{
    cleanup_stream_merge stream_merge_t *merge = stream_merge_new();
    bytes_t content;

    (void) state;
    add(merge, frame(7, 3), "\"stderr\"", "\"\"");
    content = stream_merge_close(merge);
    assert_memory_equal(content.bytes, "{\"name\":\"stderr\",\"text\":\"\"}",
                        content.size);
}

static void merges_pieces_of_one_stream(void **state)
{
    cleanup_stream_merge stream_merge_t *merge = stream_merge_new();

    (void) state;
    assert_false(joins(merge, frame(0, 3), "\"stdout\"", "\"a\""));
    add(merge, frame(7, 3), "\"stdout\"", "\"a\"");
    assert_true(joins(merge, frame(7, 4), "\"stdout\"", "\"b\""));
    assert_false(joins(merge, frame(8, 4), "\"stdout\"", "\"b\""));
    assert_false(joins(merge, frame(7, 4), "\"stderr\"", "\"b\""));
}

static void a_message_has_an_end(void **state)
{
    cleanup_stream_merge stream_merge_t *merge = stream_merge_new();
    size_t room;
    char *text;

    (void) state;
    add(merge, frame(7, 3), "\"stdout\"", "\"a\"");
    room = STREAM_MERGE_MAX - stream_merge_bytes(merge);
    text = malloc(room + 2);
    assert_non_null(text);
    memset(text, 'x', room + 1);
    text[0] = '"';
    text[room - 1] = '"';
    text[room] = '\0';
    assert_true(joins(merge, frame(7, 4), "\"stdout\"", text));
    text[room - 1] = 'x';
    text[room] = '"';
    text[room + 1] = '\0';
    assert_false(joins(merge, frame(7, 4), "\"stdout\"", text));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_text_as_it_came),
        cmocka_unit_test(names_the_stream),
        cmocka_unit_test(merges_pieces_of_one_stream),
        cmocka_unit_test(a_message_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
