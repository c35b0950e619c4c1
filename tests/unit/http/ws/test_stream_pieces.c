/* The pieces of a stream message are valid, small enough, and together what the
 * message was. */
#include "gateway/http/ws/stream_pieces.h"

#include "protocol/jspan.h"
#include "tests/lib/test.h"

#include <string.h>

#define HEADER "{\"msg_id\":\"m_1\",\"msg_type\":\"stream\",\"date\":\"\"}"
#define BEFORE "{\"name\":\"stdout\",\"text\":\""
#define AFTER  "\",\"more\":[1]}"
#define REST   (sizeof BEFORE AFTER - 1)
#define PIECES 100
#define TEXT   "a\\n\\u0000b\\\\\\ud83d\\ude00c\xc3\xa9\xf0\x9f\x98\x80\\\"d"
#define WIDEST 12 /* bytes of an escaped surrogate pair */

static websocket_parts_t message(const char *header, const buffer_t *content)
{
    return (websocket_parts_t){.header = {header, strlen(header)},
                               .parent = {"{\"msg_id\":\"p\"}", 14},
                               .content = buffer_bytes(content)};
}

static void write_content(buffer_t *out, const char *text, size_t times)
{
    buffer_text(out, BEFORE);
    while (times--)
        buffer_text(out, text);
    buffer_text(out, AFTER);
}

/* Appends a piece's text, as JSON has it, after looking at the whole piece. */
static void take_piece(const websocket_parts_t *piece, buffer_t *text)
{
    jspan_t content, value;
    fault_t fault;

    assert_int_equal(jspan_check_portable(piece->content.bytes,
                                          piece->content.size, &content,
                                          &fault),
                     0);
    value = jspan_member(content, "name");
    assert_true(jspan_text_equals(value, "stdout"));
    assert_true(jspan_is(jspan_member(content, "more"), JSPAN_ARRAY));
    value = jspan_member(content, "text");
    buffer_append(text, value.text + 1, value.size - 2);
}

/* Returns the id of a piece, to be freed. */
static char *id_of(const websocket_parts_t *piece)
{
    jspan_t header;
    fault_t fault;

    assert_int_equal(
        jspan_check(piece->header.bytes, piece->header.size, &header, &fault),
        0);
    assert_true(jspan_text_equals(jspan_member(header, "msg_type"), "stream"));
    return jspan_text_new(jspan_member(header, "msg_id"));
}

static void are_together_the_message(void **state)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, whole = BUFFER_EMPTY;

    (void) state;
    write_content(&content, TEXT, 50);
    for (size_t i = 0; i < 50; i++)
        buffer_text(&whole, TEXT);
    const websocket_parts_t parts = message(HEADER, &content);
    /* Each cut is once inside each character. */
    for (size_t max = 2 * REST; max < 2 * REST + sizeof TEXT; max++) {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;
        cleanup_stream_pieces stream_pieces_t *self =
            stream_pieces_new(&parts, max, 0);
        websocket_parts_t piece;
        uint64_t end = 1;

        assert_non_null(self);
        while (stream_pieces_next(self, &piece, &end)) {
            assert_true(piece.content.size <= max);
            assert_true(!end || piece.content.size > max - WIDEST);
            assert_ptr_equal(piece.parent.bytes, parts.parent.bytes);
            take_piece(&piece, &text);
            assert_int_equal(end, end ? text.size : 0);
        }
        assert_int_equal(end, 0);
        assert_int_equal(text.size, whole.size);
        assert_memory_equal(text.data, whole.data, whole.size);
    }
}

static void have_ids_by_their_place(void **state)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    uint64_t end = 0;

    (void) state;
    write_content(&content, "x", 3 * PIECES);
    const websocket_parts_t parts = message(HEADER, &content);
    cleanup_stream_pieces stream_pieces_t *self =
        stream_pieces_new(&parts, REST + PIECES, 0);
    websocket_parts_t piece;
    for (unsigned i = 0; i < 3; i++) {
        assert_true(stream_pieces_next(self, &piece, &end));
        cleanup_free char *id = id_of(&piece);
        assert_string_equal(id, i == 0   ? "m_1"
                                : i == 1 ? "m_1_100"
                                         : "m_1_200");
    }
    assert_int_equal(end, 0);
    assert_false(stream_pieces_next(self, &piece, &end));
}

static void begin_where_an_earlier_piece_ended(void **state)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, text = BUFFER_EMPTY;
    websocket_parts_t piece;
    uint64_t end;

    (void) state;
    write_content(&content, "0123456789", 10);
    const websocket_parts_t parts = message(HEADER, &content);
    cleanup_stream_pieces stream_pieces_t *self =
        stream_pieces_new(&parts, SIZE_MAX, 91);
    assert_true(stream_pieces_next(self, &piece, &end));
    take_piece(&piece, &text);
    assert_int_equal(text.size, 9);
    assert_memory_equal(text.data, "123456789", 9);
    assert_int_equal(end, 0);
    cleanup_free char *id = id_of(&piece);
    assert_string_equal(id, "m_1_91");
    cleanup_stream_pieces stream_pieces_t *none =
        stream_pieces_new(&parts, SIZE_MAX, 100);
    assert_false(stream_pieces_next(none, &piece, &end));
    assert_null(stream_pieces_new(&parts, SIZE_MAX, 101));
}

static void are_not_made_of_another_message(void **state)
{
    static const char *const headers[] = {
        "{\"msg_id\":\"m\",\"msg_type\":\"display_data\"}",
        "{\"msg_type\":\"stream\"}",
        "{\"msg_id\":1,\"msg_type\":\"stream\"}",
        "[",
    };
    static const char *const contents[] = {
        "{\"name\":\"stdout\"}", "{\"name\":\"stdout\",\"text\":1}", "[]", "{"};
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    (void) state;
    write_content(&content, "x", 1000);
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        const websocket_parts_t parts = message(headers[i], &content);
        assert_null(stream_pieces_new(&parts, 2 * REST + PIECES, 0));
    }
    websocket_parts_t parts = message(HEADER, &content);
    assert_null(stream_pieces_new(&parts, 2 * REST - 1, 0));
    parts.buffer_count = 1;
    assert_null(stream_pieces_new(&parts, 2 * REST + PIECES, 0));
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        cleanup_buffer buffer_t other = BUFFER_EMPTY;
        buffer_text(&other, contents[i]);
        parts = message(HEADER, &other);
        assert_null(stream_pieces_new(&parts, 2 * REST + PIECES, 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_together_the_message),
        cmocka_unit_test(have_ids_by_their_place),
        cmocka_unit_test(begin_where_an_earlier_piece_ended),
        cmocka_unit_test(are_not_made_of_another_message),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
