#include "protocol/websocket.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define TEXT(string) ((bytes_t){.bytes = (string), .size = strlen(string)})

/* jupyter_server's own example of a v1 frame: iopub, one buffer ff fe. */
static const uint8_t v1_golden[] =
    "\x07\0\0\0\0\0\0\0\x40\0\0\0\0\0\0\0\x45\0\0\0\0\0\0\0"
    "\x4c\0\0\0\0\0\0\0\x4e\0\0\0\0\0\0\0\x50\0\0\0\0\0\0\0"
    "\x57\0\0\0\0\0\0\0\x59\0\0\0\0\0\0\0"
    "iopub{\"a\":1}{}{}{\"b\":2}\xff\xfe";
#define V1_GOLDEN_SIZE 89

static int decode(websocket_form_t form, const void *bytes, size_t size,
                  channel_t *channel, message_t **message)
{
    fault_t fault;
    int r = websocket_decode(form, bytes, size, channel, message, &fault);

    if (r < 0)
        assert_true(fault.text[0] != '\0');
    return r;
}

static int decode_text(const char *text, channel_t *channel,
                       message_t **message)
{
    return decode(WEBSOCKET_LEGACY, text, strlen(text), channel, message);
}

static void writes_v1_as_the_reference_does(void **state)
{
    (void) state;
    const bytes_t buffer = {.bytes = "\xff\xfe", .size = 2};
    const websocket_parts_t parts = {.header = TEXT("{\"a\":1}"),
                                     .content = TEXT("{\"b\":2}"),
                                     .buffers = &buffer,
                                     .buffer_count = 1};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    assert_false(
        websocket_encode(WEBSOCKET_V1, false, CHANNEL_IOPUB, &parts, &out));
    assert_int_equal(out.size, V1_GOLDEN_SIZE);
    assert_memory_equal(out.data, v1_golden, V1_GOLDEN_SIZE);
}

static void writes_legacy_json_with_the_names_at_the_top(void **state)
{
    (void) state;
    const websocket_parts_t parts = {
        .header = TEXT("{\"msg_id\":\"i\\u0041\",\"msg_type\":\"status\"}")};
    const char *expected =
        "{\"header\":{\"msg_id\":\"i\\u0041\",\"msg_type\":\"status\"},"
        "\"msg_id\":\"i\\u0041\",\"msg_type\":\"status\",\"parent_header\":{},"
        "\"metadata\":{},\"content\":{},\"buffers\":[],\"channel\":\"iopub\"}";
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    assert_true(
        websocket_encode(WEBSOCKET_LEGACY, false, CHANNEL_IOPUB, &parts, &out));
    assert_int_equal(out.size, strlen(expected));
    assert_memory_equal(out.data, expected, out.size);
}

static void writes_legacy_binary_when_there_are_buffers(void **state)
{
    (void) state;
    const bytes_t buffers[] = {{.bytes = "\xff\xfe", .size = 2}, TEXT("ABC")};
    const websocket_parts_t parts = {
        .header = TEXT("{}"), .buffers = buffers, .buffer_count = 2};
    cleanup_buffer buffer_t out = BUFFER_EMPTY, text = BUFFER_EMPTY;

    assert_false(
        websocket_encode(WEBSOCKET_LEGACY, false, CHANNEL_SHELL, &parts, &out));
    assert_memory_equal(out.data, "\0\0\0\3\0\0\0\x10", 8);
    assert_memory_equal(out.data + out.size - 5,
                        "\xff\xfe"
                        "ABC",
                        5);
    assert_int_equal(out.data[11], out.size - 5);
    assert_int_equal(out.data[15], out.size - 3);
    assert_int_equal(out.data[16], '{');
    /* Tornado's clients read no binary frames. */
    assert_true(
        websocket_encode(WEBSOCKET_LEGACY, true, CHANNEL_SHELL, &parts, &text));
    assert_int_equal(text.size, out.size - 16 - 5);
    assert_memory_equal(text.data, out.data + 16, text.size);
}

static void reads_back_what_it_wrote(void **state)
{
    (void) state;
    static const websocket_form_t forms[] = {WEBSOCKET_LEGACY, WEBSOCKET_V1};
    const bytes_t buffers[] = {TEXT("one"), TEXT(""), TEXT("three")};

    for (size_t form = 0; form < 2; form++) {
        for (size_t count = 0; count <= 3; count++) {
            const websocket_parts_t parts = {
                .header = TEXT("{\"msg_id\":\"m\",\"msg_type\":\"comm_msg\"}"),
                .parent = TEXT("{\"p\":0}"),
                .metadata = TEXT("{\"x\":[]}"),
                .content = TEXT("{\"y\":1}"),
                .buffers = buffers,
                .buffer_count = count};
            cleanup_buffer buffer_t out = BUFFER_EMPTY;
            cleanup_message message_t *message = NULL;
            channel_t channel;

            websocket_encode(forms[form], false, CHANNEL_CONTROL, &parts, &out);
            assert_int_equal(
                decode(forms[form], out.data, out.size, &channel, &message), 0);
            assert_int_equal(channel, CHANNEL_CONTROL);
            assert_string_equal(message_type(message), "comm_msg");
            assert_int_equal(message_parent(message).size, 7);
            assert_memory_equal(message_content(message).bytes, "{\"y\":1}", 7);
            assert_int_equal(message_buffer_count(message), count);
            if (count == 3)
                assert_memory_equal(message_buffer(message, 2).bytes, "three",
                                    5);
        }
    }
}

static void reads_messages_of_real_clients(void **state)
{
    (void) state;
    static const struct {
        const char *text;
        channel_t channel;
    } cases[] = {
        /* smolagents: neither channel nor buffers */
        {"{\"header\":{\"msg_id\":\"m\",\"msg_type\":\"t\",\"version\":\"5.0\"}"
         ",\"parent_header\":{},\"metadata\":{},\"content\":{\"code\":\"\"}}",
         CHANNEL_SHELL},
        /* AutoGen: buffers is an object */
        {"{\"channel\":\"shell\",\"buffers\":{},\"header\":{\"msg_id\":\"m\","
         "\"msg_type\":\"t\",\"date\":\"2026-01-02T03:04:05\"}}",
         CHANNEL_SHELL},
        /* Open WebUI: an empty date; others: a number, null parts */
        {"{\"channel\":\"control\",\"header\":{\"msg_id\":\"m\","
         "\"msg_type\":\"t\",\"date\":\"\"}}",
         CHANNEL_CONTROL},
        {" {\"channel\":\"stdin\",\"header\":{\"msg_id\":\"m\",\"msg_type\":"
         "\"t\",\"date\":1.5},\"parent_header\":null,\"metadata\":null}",
         CHANNEL_STDIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_message message_t *message = NULL;
        channel_t channel;

        assert_int_equal(decode_text(cases[i].text, &channel, &message), 0);
        assert_int_equal(channel, cases[i].channel);
        assert_string_equal(message_id(message), "m");
    }
}

static void refuses_invalid_messages(void **state)
{
    (void) state;
    static const char *const cases[] = {
        "",
        "x",
        "[]",
        "{",
        "{}",
        "{\"header\":[]}",
        "{\"header\":{\"msg_id\":\"m\"}}",
        "{\"header\":{\"msg_id\":\"\",\"msg_type\":\"t\"}}",
        "{\"header\":{\"msg_id\":\"a\\u0000b\",\"msg_type\":\"t\"}}",
        "{\"header\":{\"msg_id\":\"m\",\"msg_type\":\"t\"},\"content\":7}",
        "{\"header\":{\"msg_id\":\"m\",\"msg_type\":\"t\"},\"channel\":7}",
        "{\"header\":{\"msg_id\":\"\xff\",\"msg_type\":\"t\"}}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_message message_t *message = NULL;
        channel_t channel;

        assert_int_equal(decode_text(cases[i], &channel, &message), -EBADMSG);
        assert_int_equal(decode(WEBSOCKET_V1, cases[i], strlen(cases[i]),
                                &channel, &message),
                         -EBADMSG);
        assert_null(message);
    }
}

static void drops_channels_that_there_are_not(void **state)
{
    (void) state;
    static const char *const names[] = {"iopub", "hb", "shel", "", "shell "};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;
        cleanup_message message_t *message = NULL;
        channel_t channel;

        buffer_format(&text,
                      "{\"channel\":\"%s\",\"header\":{\"msg_id\":\"m\","
                      "\"msg_type\":\"t\"}}",
                      names[i]);
        assert_int_equal(
            decode(WEBSOCKET_LEGACY, text.data, text.size, &channel, &message),
            -EPROTONOSUPPORT);
    }
}

/* Each byte of the tables of offsets, with each value that matters. */
static void survives_every_wrong_offset(void **state)
{
    (void) state;
    const bytes_t buffers[] = {TEXT("one"), TEXT("two")};
    const websocket_parts_t parts = {
        .header = TEXT("{\"msg_id\":\"m\",\"msg_type\":\"t\"}"),
        .buffers = buffers,
        .buffer_count = 2};

    for (int form = WEBSOCKET_LEGACY; form <= WEBSOCKET_V1; form++) {
        cleanup_buffer buffer_t out = BUFFER_EMPTY;

        websocket_encode((websocket_form_t) form, false, CHANNEL_SHELL, &parts,
                         &out);
        for (size_t at = 0; at < 72 && at < out.size; at++) {
            for (int value = 0; value < 256; value += 5) {
                cleanup_free uint8_t *bytes = mem_copy(out.data, out.size);
                cleanup_message message_t *message = NULL;
                channel_t channel;
                fault_t fault;

                bytes[at] = (uint8_t) value;
                int r = websocket_decode((websocket_form_t) form, bytes,
                                         out.size, &channel, &message, &fault);
                assert_true(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT);
            }
        }
        for (size_t size = 0; size < out.size - 3; size++) {
            cleanup_free uint8_t *cut = mem_copy(out.data, size);
            cleanup_message message_t *message = NULL;
            channel_t channel;

            assert_int_equal(
                decode((websocket_form_t) form, cut, size, &channel, &message),
                -EBADMSG);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_v1_as_the_reference_does),
        cmocka_unit_test(writes_legacy_json_with_the_names_at_the_top),
        cmocka_unit_test(writes_legacy_binary_when_there_are_buffers),
        cmocka_unit_test(reads_back_what_it_wrote),
        cmocka_unit_test(reads_messages_of_real_clients),
        cmocka_unit_test(refuses_invalid_messages),
        cmocka_unit_test(drops_channels_that_there_are_not),
        cmocka_unit_test(survives_every_wrong_offset),
    };
    return cmocka_run_group_tests_name("websocket", tests, NULL, NULL);
}
