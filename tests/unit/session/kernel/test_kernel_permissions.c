#include "gateway/session/kernel/kernel_permissions.h"
#include "tests/lib/test.h"

#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

static frame_t frame_of(frame_type_t type, const char *content)
{
    return (frame_t){.type = (uint16_t) type,
                     .seq = 1,
                     .request = 7,
                     .content = {content, strlen(content)}};
}

static int check(const frame_t *frame, session_phase_t life, fault_t *fault)
{
    kernel_permissions_content_t content;

    return kernel_permissions_check(frame, life, life != PHASE_STARTING,
                                    &content, fault);
}

#define PICTURE(text) "{\"data\":{\"image/png\":\"" text "\"},\"metadata\":{}}"
/* Of as many letters as are looked at at once, and some more. */
#define LINE                                                                   \
    "aGVhcnRoIGtlZXBzIFB5dGhvbiBrZXJuZWxzIHdhcm0gYW5kIHNhZmUgZm9yIGFnZW50cyBh" \
    "bmQg"
/* Exactly as many. */
#define SIXTEEN "aGVhcnRoaGVhcnRo"
#define BLOCK   SIXTEEN SIXTEEN SIXTEEN SIXTEEN

/* Every type with a content that is right, and one that is not. */
static const struct {
    frame_type_t type;
    const char *right;
    const char *wrong;
} rows[] = {
    {FRAME_STREAM, "{\"name\":\"stdout\",\"text\":\"x\"}",
     "{\"name\":\"stdlog\",\"text\":\"x\"}"},
    {FRAME_STREAM, "{\"name\":\"stderr\",\"text\":\"\"}",
     "{\"name\":\"stdout\",\"text\":1}"},
    {FRAME_DISPLAY, "{\"data\":{\"text/plain\":\"1\"},\"metadata\":{}}",
     "{\"data\":{\"text\":\"1\"},\"metadata\":{}}"},
    {FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}", "{\"data\":{}}"},
    {FRAME_DISPLAY, "{\"data\":{},\"metadata\":{}}",
     "{\"data\":1,\"metadata\":{}}"},
    {FRAME_DISPLAY, "{\"data\":{\"a/b; c=\\\"d\\\"\":\"1\"},\"metadata\":{}}",
     "{\"data\":{\"a/b;\\u001b]0;\":\"1\"},\"metadata\":{}}"},
    {FRAME_DISPLAY, "{\"data\":{\"a/b;\":\"1\"},\"metadata\":{}}",
     "{\"data\":{\"a/b;\\n\":\"1\"},\"metadata\":{}}"},
    {FRAME_DISPLAY, "{\"data\":{\"a/b;c\":\"1\"},\"metadata\":{}}",
     "{\"data\":{\"a/b;\xc3\xa4\":\"1\"},\"metadata\":{}}"},
    {FRAME_DISPLAY, PICTURE(""), PICTURE("YWJ")},
    {FRAME_DISPLAY, PICTURE("YWJj"), PICTURE("YWJ*")},
    {FRAME_DISPLAY, PICTURE("YWI="), PICTURE("YW=I")},
    {FRAME_DISPLAY, PICTURE("YQ=="), PICTURE("Y===")},
    {FRAME_DISPLAY, PICTURE("Y W\\nJ\\rj\\t"), PICTURE("YW\\bJj")},
    {FRAME_DISPLAY, PICTURE(LINE "\\n" LINE "+/8="), PICTURE(LINE LINE "-_8=")},
    {FRAME_DISPLAY, PICTURE(LINE), PICTURE(LINE "\xc3\xa4")},
    {FRAME_DISPLAY, PICTURE(LINE "YQ=="), PICTURE("YQ==" BLOCK)},
    {FRAME_DISPLAY, "{\"data\":{\"image/svg+xml\":\"<svg/>\"},\"metadata\":{}}",
     "{\"data\":{\"application/pdf\":[]},\"metadata\":{}}"},
    {FRAME_UPDATE,
     "{\"data\":{},\"metadata\":{},\"transient\":{\"display_id\":\"a\"}}",
     "{\"data\":{},\"metadata\":{},\"transient\":{}}"},
    {FRAME_RESULT, "{\"execution_count\":1,\"data\":{},\"metadata\":{}}",
     "{\"execution_count\":\"1\",\"data\":{},\"metadata\":{}}"},
    {FRAME_ERROR, "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[\"a\"]}",
     "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[1]}"},
    {FRAME_ERROR, "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":[]}",
     "{\"evalue\":\"\",\"traceback\":[]}"},
    {FRAME_ERROR, "{\"ename\":\"\",\"evalue\":\"\",\"traceback\":[]}",
     "{\"ename\":\"E\",\"traceback\":[]}"},
    {FRAME_ERROR, "{\"ename\":\"\",\"evalue\":\"\",\"traceback\":[\"\"]}",
     "{\"ename\":\"E\",\"evalue\":\"\",\"traceback\":\"a\"}"},
    {FRAME_CLEAR, "{\"wait\":true}", "{\"wait\":1}"},
    {FRAME_COMM_OPEN, "{\"comm_id\":\"c\",\"target_name\":\"t\",\"data\":{}}",
     "{\"comm_id\":\"c\",\"data\":{}}"},
    {FRAME_COMM_MSG, "{\"comm_id\":\"c\",\"data\":{}}", "{\"data\":{}}"},
    {FRAME_COMM_MSG, "{\"comm_id\":\"c\",\"data\":1}", "{\"comm_id\":\"c\"}"},
    {FRAME_COMM_CLOSE, "{\"comm_id\":\"c\",\"data\":{}}", "{\"comm_id\":1}"},
    {FRAME_INPUT_REQUEST, "{\"prompt\":\"\",\"password\":false}",
     "{\"prompt\":\"\"}"},
    {FRAME_INPUT_REQUEST, "{\"prompt\":\"?\",\"password\":true}",
     "{\"password\":true}"},
    {FRAME_RESULT, "{\"execution_count\":-1,\"data\":{},\"metadata\":{}}",
     "{\"execution_count\":9223372036854775808,\"data\":{},\"metadata\":{}}"},
    {FRAME_REPLY, "{\"status\":\"ok\"}", "[]"},
    {FRAME_REPLY, "{}", "{\"status\":5}"},
    {FRAME_REPLY,
     "{\"status\":\"error\",\"ename\":\"\",\"evalue\":\"\",\"traceback\":[]}",
     "{\"status\":\"error\",\"ename\":\"\",\"evalue\":\"\"}"},
    {FRAME_REPLY, "{\"status\":\"ok\",\"execution_count\":1}",
     "{\"status\":\"ok\",\"execution_count\":1e400}"},
    {FRAME_STREAM, "{\"name\":\"stdout\",\"text\":\"\\ud83d\\ude00\"}",
     "{\"name\":\"stdout\",\"text\":\"\\ud83d\"}"},
    {FRAME_MARKED, "{}", "[]"},
    {FRAME_STRUCK, "{\"taken\":false}", "{\"taken\":1}"},
    {FRAME_LOOKED, "{\"look\":1,\"imported\":null}",
     "{\"look\":\"1\",\"imported\":[]}"},
    {FRAME_YIELDED, "{}", "[]"},
    {FRAME_AWAITING, "{}", "[]"},
    {FRAME_CALL, "{\"call\":1,\"name\":\"t\",\"arguments\":{}}",
     "{\"call\":0,\"name\":\"t\",\"arguments\":{}}"},
    {FRAME_CALL, "{\"call\":9,\"name\":\"\",\"arguments\":{\"a\":1}}",
     "{\"call\":9,\"name\":1,\"arguments\":{\"a\":1}}"},
    {FRAME_CALL, "{\"call\":9,\"name\":\"t\",\"arguments\":{}}",
     "{\"call\":9,\"name\":\"t\",\"arguments\":[]}"},
    {FRAME_UNCALL, "{\"call\":1}", "{\"call\":\"1\"}"},
};

static void accepts_valid_frames_only(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        frame_t right = frame_of(rows[i].type, rows[i].right);
        frame_t wrong = frame_of(rows[i].type, rows[i].wrong);
        fault_t fault = {0};

        assert_int_equal(check(&right, PHASE_BUSY, &fault), 0);
        assert_int_equal(check(&wrong, PHASE_BUSY, &fault), -EPROTO);
        assert_true(fault.text[0] != '\0');
    }
}

static bool answers(const char *content, bool is_execute)
{
    jspan_t object;
    fault_t fault;

    assert_int_equal(jspan_check(content, strlen(content), &object, &fault), 0);
    int r = kernel_permissions_check_answer(jspan_member(object, "status"),
                                            is_execute, &fault);
    assert_true(r == 0 || r == -EPROTO);
    return r == 0;
}

static void an_answer_says_how_it_ended(void **state)
{
    (void) state;
    assert_true(answers("{\"status\":\"ok\"}", true));
    assert_true(answers("{\"status\":\"error\"}", true));
    assert_true(answers("{\"status\":\"incomplete\"}", false));
    assert_false(answers("{\"status\":\"incomplete\"}", true));
    assert_false(answers("{}", true));
    assert_false(answers("{}", false));
}

static bool takes(const char *before, const char *key, const char *behind)
{
    cleanup_free char *content = mem_format("%s%s%s", before, key, behind);
    frame_t frame = frame_of(FRAME_DISPLAY, content);
    fault_t fault;

    return check(&frame, PHASE_BUSY, &fault) == 0;
}

static bool takes_type(const char *key)
{
    return takes("{\"data\":{\"", key, "\":\"1\"},\"metadata\":{}}");
}

static void knows_the_letters_of_a_mime_type(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-+.";

    (void) state;
    for (int c = ' '; c < 128; c++) {
        char key[] = "a/bcd", parameter[] = "a/b;cd";
        if (c == '"' || c == '\\') /* what JSON escapes */
            continue;
        key[3] = parameter[5] = (char) c;
        bool is_letter = strchr(letters, c), is_parted = c == ';';
        if (takes_type(key) != (is_letter || is_parted)
            || takes_type(parameter) != (c <= '~'))
            fail_msg("\"%s\", \"%s\"", key, parameter);
    }
}

static void knows_the_form_of_a_mime_type(void **state)
{
    char longest[255];

    (void) state;
    assert_true(takes_type("a/b"));
    assert_false(takes_type("/bc"));
    assert_false(takes_type("ab/"));
    assert_false(takes_type("abc"));
    assert_false(takes_type("a/;b"));
    assert_false(takes_type("a;/b"));
    assert_true(takes_type("a/b;"));
    memset(longest, 'b', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    longest[1] = '/';
    assert_true(takes_type(longest));
    cleanup_free char *longer = mem_format("%sb", longest);
    assert_false(takes_type(longer));
}

static void knows_the_letters_of_base64(void **state)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ+/";

    (void) state;
    for (int c = '!'; c < 128; c++) {
        char text[] = "YWJj";
        if (c == '"' || c == '\\')
            continue;
        text[1] = (char) c;
        if (takes("{\"data\":{\"image/png\":\"", text, "\"},\"metadata\":{}}")
            != !!strchr(letters, c))
            fail_msg("%s", text);
    }
}

/* A kernel may not speak the gateway's part. */
static void refuses_types_that_only_the_gateway_sends(void **state)
{
    (void) state;
    for (int type = 0; type < 32; type++) {
        frame_t frame = frame_of((frame_type_t) type, "{}");
        fault_t fault;

        assert_int_equal(check(&frame, PHASE_BUSY, &fault), -EPROTO);
    }
}

static void refuses_unknown_types(void **state)
{
    (void) state;
    for (int type = FRAME_AWAITING + 1; type < 65536; type += 97) {
        frame_t frame = frame_of((frame_type_t) type, "{}");
        fault_t fault;

        assert_int_equal(check(&frame, PHASE_BUSY, &fault), -EPROTO);
    }
}

static void takes_a_reply_only_to_a_request(void **state)
{
    frame_t frame = frame_of(FRAME_REPLY, "{}");
    fault_t fault;

    (void) state;
    assert_int_equal(check(&frame, PHASE_STARTING, &fault), -EPROTO);
    assert_int_equal(check(&frame, PHASE_BUSY, &fault), 0);
    frame.request = 0;
    assert_int_equal(check(&frame, PHASE_BUSY, &fault), -EPROTO);
}

static const char info[] = "{\"protocol_version\":\"5.5\","
                           "\"language_info\":{},\"banner\":\"\"}";

static void takes_ready_once(void **state)
{
    frame_t frame = frame_of(FRAME_READY, info);
    kernel_permissions_content_t content;
    fault_t fault;

    (void) state;
    assert_int_equal(kernel_permissions_check(&frame, PHASE_STARTING, false,
                                              &content, &fault),
                     0);
    assert_int_equal(kernel_permissions_check(&frame, PHASE_STARTING, true,
                                              &content, &fault),
                     -EPROTO);
    assert_int_equal(
        kernel_permissions_check(&frame, PHASE_IDLE, true, &content, &fault),
        -EPROTO);
    frame = frame_of(FRAME_READY, "{\"protocol_version\":\"5.5\"}");
    assert_int_equal(kernel_permissions_check(&frame, PHASE_STARTING, false,
                                              &content, &fault),
                     -EPROTO);
}

/* The table once more, as it is meant: a row that is changed there alone is a
 * mistake. */
static void requires_all_members_of_kernel_info(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "{\"language_info\":{},\"banner\":\"\"}",
        "{\"protocol_version\":\"5.5\",\"banner\":\"\"}",
        "{\"protocol_version\":\"5.5\",\"language_info\":{}}",
        "{\"protocol_version\":5,\"language_info\":{},\"banner\":\"\"}",
        "{\"protocol_version\":\"5.5\",\"language_info\":\"\",\"banner\":\"\"}",
        "{\"protocol_version\":\"5.5\",\"language_info\":{},\"banner\":[]}",
    };
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        frame_t frame = frame_of(FRAME_READY, wrong[i]);
        assert_int_equal(check(&frame, PHASE_STARTING, &fault), -EPROTO);
    }
}

#define WHEN(state) (1u << PHASE_##state)
#define ALIVE       (WHEN(IDLE) | WHEN(BUSY) | WHEN(STOPPING))
#define SMALL       (1u << 20)
#define BIG         (8u << 20)
#define ANY         0 /* as a frame may be at all */

static const struct {
    frame_type_t type;
    unsigned when;
    bool of_a_request;
    bool has_buffers;
    size_t most;
} rules[] = {
    {FRAME_READY, WHEN(STARTING), false, false, SMALL},
    {FRAME_STREAM, ALIVE, false, false, BIG},
    {FRAME_DISPLAY, ALIVE, false, true, ANY},
    {FRAME_UPDATE, ALIVE, false, true, ANY},
    {FRAME_RESULT, ALIVE, true, true, ANY},
    {FRAME_ERROR, ALIVE, false, false, ANY},
    {FRAME_CLEAR, ALIVE, false, false, SMALL},
    {FRAME_COMM_OPEN, ALIVE, false, true, ANY},
    {FRAME_COMM_MSG, ALIVE, false, true, ANY},
    {FRAME_COMM_CLOSE, ALIVE, false, true, ANY},
    {FRAME_INPUT_REQUEST, WHEN(BUSY), true, false, SMALL},
    {FRAME_REPLY, ALIVE, true, false, ANY},
    {FRAME_MARKED, ALIVE, true, false, SMALL},
    {FRAME_STRUCK, ALIVE, false, false, SMALL},
    {FRAME_LOOKED, ALIVE, false, false, SMALL},
    {FRAME_YIELDED, ALIVE, true, false, SMALL},
    {FRAME_AWAITING, WHEN(BUSY), true, false, SMALL},
};

static frame_t right_frame(frame_type_t type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type)
            return frame_of(type, rows[i].right);
    return frame_of(type, info);
}

static int answer(const frame_t *frame, unsigned life)
{
    kernel_permissions_content_t content;
    fault_t fault;

    return kernel_permissions_check(frame, (session_phase_t) life, false,
                                    &content, &fault);
}

static void permits_each_type_only_in_its_states(void **state)
{
    (void) state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        frame_t frame = right_frame(rules[i].type);

        for (unsigned life = 0; life < PHASE_COUNT; life++)
            assert_int_equal(answer(&frame, life),
                             rules[i].when & 1u << life ? 0 : -EPROTO);
    }
}

static unsigned some_state(unsigned when)
{
    return when & WHEN(BUSY) ? PHASE_BUSY : PHASE_STARTING;
}

static void requires_request_and_buffers_by_type(void **state)
{
    bytes_t buffer = {"x", 1};

    (void) state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        unsigned life = some_state(rules[i].when);
        frame_t frame = right_frame(rules[i].type);

        frame.request = 0;
        assert_int_equal(answer(&frame, life),
                         rules[i].of_a_request ? -EPROTO : 0);
        frame = right_frame(rules[i].type);
        frame.buffers = &buffer;
        frame.buffer_count = 1;
        assert_int_equal(answer(&frame, life),
                         rules[i].has_buffers ? 0 : -EPROTO);
    }
}

/* Spaces after an object are still JSON. */
static void takes_no_more_than_each_type_may_have(void **state)
{
    cleanup_free char *text = mem_new(BIG + 1);

    (void) state;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        unsigned life = some_state(rules[i].when);
        frame_t frame = right_frame(rules[i].type);

        if (rules[i].most == ANY)
            continue;
        memset(text, ' ', BIG + 1);
        memcpy(text, frame.content.bytes, frame.content.size);
        frame.content.bytes = text;
        frame.content.size = rules[i].most;
        assert_int_equal(answer(&frame, life), 0);
        frame.content.size++;
        assert_int_equal(answer(&frame, life), -EPROTO);
    }
}

static void refuses_text_that_is_not_json(void **state)
{
    static const char *const texts[] = {
        "", "{", "{} x", "[1]", "\"a\"", "{\"a\":NaN}", "{\"a\":\"\xff\"}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        frame_t frame = frame_of(FRAME_REPLY, texts[i]);
        fault_t fault;

        assert_int_equal(check(&frame, PHASE_BUSY, &fault), -EPROTO);
    }
}

static void refuses_buffers_where_none_belong(void **state)
{
    bytes_t buffer = {"x", 1};
    frame_t stream = frame_of(FRAME_STREAM, rows[0].right);
    frame_t comm = frame_of(FRAME_COMM_MSG, "{\"comm_id\":\"c\",\"data\":{}}");
    fault_t fault;

    (void) state;
    stream.buffers = comm.buffers = &buffer;
    stream.buffer_count = comm.buffer_count = 1;
    assert_int_equal(check(&stream, PHASE_BUSY, &fault), -EPROTO);
    assert_int_equal(check(&comm, PHASE_BUSY, &fault), 0);
}

static void refuses_metadata_that_is_no_object(void **state)
{
    frame_t frame = frame_of(FRAME_REPLY, "{}");
    fault_t fault;

    (void) state;
    frame.metadata = (bytes_t){"[]", 2};
    assert_int_equal(check(&frame, PHASE_BUSY, &fault), -EPROTO);
}

/* A client would take it for the gateway's. */
static void reports_no_loss_in_a_reply(void **state)
{
    static const char other[] =
        "{\"lost\":{},\"hearth\":{\"namespace\":{\"lost\":{}}}}";
    static const char loss[] = "{\"hearth\":{\"lo\\u0073t\":{}}}";
    frame_t frame = frame_of(FRAME_REPLY, "{\"status\":\"ok\"}");
    kernel_permissions_content_t content;
    fault_t fault;

    (void) state;
    assert_int_equal(
        kernel_permissions_check(&frame, PHASE_BUSY, true, &content, &fault),
        0);
    assert_true(jspan_is(content.metadata, JSPAN_ABSENT));
    frame.metadata = text_bytes(other);
    assert_int_equal(
        kernel_permissions_check(&frame, PHASE_BUSY, true, &content, &fault),
        0);
    assert_ptr_equal(content.metadata.text, other);
    assert_int_equal(content.metadata.size, strlen(other));
    frame.metadata = text_bytes(loss);
    assert_int_equal(check(&frame, PHASE_BUSY, &fault), -EPROTO);
    assert_string_equal(fault.text, "metadata of REPLY: `hearth.lost` is the "
                                    "gateway's");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_valid_frames_only),
        cmocka_unit_test(an_answer_says_how_it_ended),
        cmocka_unit_test(knows_the_letters_of_a_mime_type),
        cmocka_unit_test(knows_the_form_of_a_mime_type),
        cmocka_unit_test(knows_the_letters_of_base64),
        cmocka_unit_test(refuses_types_that_only_the_gateway_sends),
        cmocka_unit_test(refuses_unknown_types),
        cmocka_unit_test(takes_a_reply_only_to_a_request),
        cmocka_unit_test(takes_ready_once),
        cmocka_unit_test(requires_all_members_of_kernel_info),
        cmocka_unit_test(permits_each_type_only_in_its_states),
        cmocka_unit_test(requires_request_and_buffers_by_type),
        cmocka_unit_test(takes_no_more_than_each_type_may_have),
        cmocka_unit_test(refuses_text_that_is_not_json),
        cmocka_unit_test(refuses_buffers_where_none_belong),
        cmocka_unit_test(refuses_metadata_that_is_no_object),
        cmocka_unit_test(reports_no_loss_in_a_reply),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
