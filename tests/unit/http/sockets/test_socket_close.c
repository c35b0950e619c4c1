/* Which close frames of a client are valid: libwebsockets is replaced. */
#include "gateway/http/sockets/socket_close.h"
#include "tests/lib/test.h"

#include <string.h>

static int sent; /* the status of the last close; 0: none */
static char said[128];

void __wrap_lws_close_reason(struct lws *wsi, enum lws_close_status status,
                             unsigned char *text, size_t size);

void __wrap_lws_close_reason(struct lws *wsi, enum lws_close_status status,
                             unsigned char *text, size_t size)
{
    (void) wsi;
    sent = (int) status;
    assert_true(size < sizeof said);
    memcpy(said, text, size);
    said[size] = '\0';
}

static int receive(const char *bytes, size_t size)
{
    sent = 0;
    return socket_close_receive(NULL, (const uint8_t *) bytes, size);
}

static void closes_with_a_sentence(void **state)
{
    (void) state;
    assert_int_equal(socket_close_send(NULL, WS_CLOSE_TRY_AGAIN_LATER, "later"),
                     -1);
    assert_int_equal(sent, 1013);
    assert_string_equal(said, "later");
}

static void echoes_what_is_valid(void **state)
{
    (void) state;
    assert_int_equal(receive("", 0), 0);
    assert_int_equal(receive("\x03\xe8", 2), 0); /* 1000 */
    assert_int_equal(receive("\x13\x87", 2), 0); /* 4999 */
    assert_int_equal(receive("\x03\xe9"
                             "b\xc3\xa9",
                             5),
                     0);
    assert_int_equal(sent, 0);
}

static void refuses_what_is_not(void **state)
{
    (void) state;
    assert_true(receive("\x03", 1) < 0);
    assert_int_equal(sent, LWS_CLOSE_STATUS_PROTOCOL_ERR);
    assert_true(receive("\x03\xe7", 2) < 0); /* 999 */
    assert_int_equal(sent, LWS_CLOSE_STATUS_PROTOCOL_ERR);
    assert_true(receive("\x13\x88", 2) < 0); /* 5000 */
    assert_int_equal(sent, LWS_CLOSE_STATUS_PROTOCOL_ERR);
    assert_true(receive("\x03\xe8\xc3", 3) < 0);
    assert_int_equal(sent, LWS_CLOSE_STATUS_INVALID_PAYLOAD);
    assert_string_equal(said, "the reason in a close frame is not UTF-8");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_with_a_sentence),
        cmocka_unit_test(echoes_what_is_valid),
        cmocka_unit_test(refuses_what_is_not),
    };

    return cmocka_run_group_tests_name("socket_close", tests, NULL, NULL);
}
