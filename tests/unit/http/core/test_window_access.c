/* Tests of window_access.h: codes, and the tokens that they are traded for. */
#include "base/buffer.h"
#include "gateway/http/core/window_access.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#define SECOND INT64_C(1000000)
#define NOW    (1000 * SECOND)

static const uint8_t key[LOG_KEY_SIZE] = {1, 2, 3};
static const uint8_t other_key[LOG_KEY_SIZE] = {1, 2, 4};

static int trade(window_access_t *access, const char *code, int64_t now_us,
                 char **ret_token)
{
    unsigned scopes = 0;
    int64_t expires_us = 0;
    int r = window_access_trade(access, code, now_us, ret_token, &scopes,
                                &expires_us);

    if (r == 0) {
        assert_int_equal(scopes, SCOPE_OBSERVE);
        assert_int_equal(expires_us, now_us + WINDOW_TOKEN_SECONDS * SECOND);
    }
    return r;
}

static void gives_a_token_for_a_code_once(void **state)
{
    cleanup_window_access window_access_t *access = window_access_new(key, 0);
    cleanup_free char *code = window_access_code(key, SCOPE_OBSERVE, NOW);
    cleanup_free char *token = NULL;
    char id[TOKEN_ID_SIZE] = "";

    (void) state;
    assert_int_equal(trade(access, code, NOW, &token), 0);
    assert_int_equal(window_access_check(access, token, NOW, id),
                     SCOPE_OBSERVE);
    assert_memory_equal(id, "window-", 7);
    assert_int_equal(strlen(id), 15);
    assert_int_equal(trade(access, code, NOW + SECOND, &token), -EALREADY);
}

static void the_token_outlives_the_gateway_and_ends(void **state)
{
    cleanup_window_access window_access_t *first = window_access_new(key, 0);
    cleanup_window_access window_access_t *next = window_access_new(key, NOW);
    cleanup_free char *code = window_access_code(key, SCOPE_OBSERVE, NOW);
    cleanup_free char *token = NULL;
    int64_t end = NOW + WINDOW_TOKEN_SECONDS * SECOND;
    char id[TOKEN_ID_SIZE];

    (void) state;
    assert_int_equal(trade(first, code, NOW, &token), 0);
    assert_int_equal(window_access_check(next, token, end, id), SCOPE_OBSERVE);
    assert_int_equal(window_access_check(next, token, end + 1, id), 0);
}

static void refuses_old_codes_and_those_of_another_life(void **state)
{
    cleanup_window_access window_access_t *access =
        window_access_new(key, NOW - SECOND);
    int64_t longest = WINDOW_CODE_SECONDS * SECOND;
    cleanup_free char *good = window_access_code(key, SCOPE_OBSERVE, NOW);
    cleanup_free char *before =
        window_access_code(key, SCOPE_OBSERVE, NOW - 2 * SECOND);
    cleanup_free char *ahead =
        window_access_code(key, SCOPE_OBSERVE, NOW + longest + 1);
    cleanup_free char *token = NULL;

    (void) state;
    assert_int_equal(trade(access, good, NOW + longest + 1, &token), -ETIME);
    assert_int_equal(trade(access, before, NOW, &token), -ETIME);
    assert_int_equal(trade(access, ahead, NOW, &token), -ETIME);
    assert_null(token);
    assert_int_equal(trade(access, good, NOW + longest, &token), 0);
}

static void refuses_what_is_forged(void **state)
{
    cleanup_window_access window_access_t *access = window_access_new(key, 0);
    cleanup_free char *foreign =
        window_access_code(other_key, SCOPE_OBSERVE, NOW);
    cleanup_free char *code = window_access_code(key, SCOPE_OBSERVE, NOW);
    cleanup_free char *token = NULL, *none = NULL;
    char id[TOKEN_ID_SIZE];
    size_t size = strlen(code);

    (void) state;
    assert_int_equal(trade(access, foreign, NOW, &none), -EACCES);
    /* A code is no token, and a token no code. */
    assert_int_equal(window_access_check(access, code, NOW, id), 0);
    assert_int_equal(trade(access, code, NOW, &token), 0);
    assert_int_equal(trade(access, token, NOW, &none), -EACCES);
    for (size_t i = 0; i < size; i++) {
        cleanup_free char *changed = mem_text(code);
        changed[i] = changed[i] == '0' ? '1' : '0';
        assert_int_equal(trade(access, changed, NOW, &none), -EACCES);
        cleanup_free char *cut = mem_copy(code, i);
        assert_int_equal(trade(access, cut, NOW, &none), -EACCES);
    }
    assert_int_equal(trade(access, "", NOW, &none), -EACCES);
    assert_int_equal(window_access_check(access, "", NOW, id), 0);
}

static void what_was_made_before_a_revocation_is_refused(void **state)
{
    cleanup_window_access window_access_t *access = window_access_new(key, 0);
    cleanup_free char *old = window_access_code(key, SCOPE_OBSERVE, NOW);
    cleanup_free char *waiting = window_access_code(key, SCOPE_OBSERVE, NOW);
    cleanup_free char *later =
        window_access_code(key, SCOPE_OBSERVE, NOW + SECOND);
    cleanup_free char *token = NULL, *none = NULL, *next = NULL;
    char id[TOKEN_ID_SIZE];

    (void) state;
    assert_int_equal(trade(access, old, NOW, &token), 0);
    window_access_revoke(access, NOW + 1);
    assert_int_equal(window_access_check(access, token, NOW + 2, id), 0);
    assert_int_equal(trade(access, waiting, NOW + 2, &none), -ETIME);
    assert_int_equal(trade(access, later, NOW + SECOND, &next), 0);
    assert_int_equal(window_access_check(access, next, NOW + SECOND, id),
                     SCOPE_OBSERVE);
}

static void remembers_as_many_as_a_minute_may_have(void **state)
{
    cleanup_window_access window_access_t *access = window_access_new(key, 0);
    int64_t later = NOW + WINDOW_CODE_SECONDS * SECOND + 1;
    size_t count = 0;
    int r = 0;

    (void) state;
    while (r == 0 && count < 10000) {
        cleanup_free char *code = window_access_code(key, SCOPE_OBSERVE, NOW);
        cleanup_free char *token = NULL;
        r = trade(access, code, NOW, &token);
        count += r == 0;
    }
    assert_int_equal(r, -EBUSY);
    assert_true(count > 100);
    cleanup_free char *code = window_access_code(key, SCOPE_OBSERVE, later);
    cleanup_free char *token = NULL;
    assert_int_equal(trade(access, code, later, &token), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_a_token_for_a_code_once),
        cmocka_unit_test(the_token_outlives_the_gateway_and_ends),
        cmocka_unit_test(refuses_old_codes_and_those_of_another_life),
        cmocka_unit_test(refuses_what_is_forged),
        cmocka_unit_test(what_was_made_before_a_revocation_is_refused),
        cmocka_unit_test(remembers_as_many_as_a_minute_may_have),
    };

    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
