#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/http/core/tokens.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN "the-gateways-own-token"

/* A state folder of its own, and what a gateway makes of it. */
typedef struct {
    char folder[64];
    char *file; /* of the tokens */
    tokens_t *auth;
} state_t;

static int make_state(void **state)
{
    state_t *self = mem_new(sizeof *self);
    fault_t fault;

    *state = self;
    snprintf(self->folder, sizeof self->folder, "/tmp/hearth-test-auth-XXXXXX");
    if (sodium_init() < 0 || mkdtemp(self->folder) == NULL)
        return -1;
    self->file = mem_format("%s/%s", self->folder, TOKENS_FILE);
    return tokens_new(self->folder, OWN, false, &self->auth, &fault);
}

static int end_state(void **state)
{
    state_t *self = *state;
    cleanup_free char *lock = mem_format("%s/tokens.lock", self->folder);

    tokens_destroy(&self->auth);
    (void) unlink(self->file);
    (void) unlink(lock);
    free(self->file);
    assert_int_equal(rmdir(self->folder), 0);
    free(self);
    return 0;
}

static unsigned check(tokens_t *auth, const char *token)
{
    char id[TOKEN_ID_SIZE];

    return tokens_check(auth, token, strlen(token), id);
}

static char *create(const state_t *self, unsigned scopes,
                    char id[TOKEN_ID_SIZE])
{
    char *token = NULL;
    fault_t fault;

    assert_int_equal(
        token_file_create(self->folder, "a name", scopes, &token, id, &fault),
        0);
    return token;
}

static void write_file(const state_t *self, const char *text)
{
    fault_t fault;

    assert_int_equal(
        file_write_atomic(self->file, 0600, text, strlen(text), &fault), 0);
}

static void its_own_token_has_all_scopes(void **state)
{
    state_t *self = *state;
    char id[TOKEN_ID_SIZE];

    assert_int_equal(tokens_check(self->auth, OWN, strlen(OWN), id), SCOPE_ALL);
    assert_string_equal(id, "gateway");
    assert_string_equal(tokens_token(self->auth), OWN);
}

static void a_similar_token_is_refused(void **state)
{
    static const char *const wrong[] = {"", "the-gateways-own-toke",
                                        "the-gateways-own-token2",
                                        "The-gateways-own-token", "gateway"};
    state_t *self = *state;
    char id[TOKEN_ID_SIZE];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(check(self->auth, wrong[i]), 0);
    /* All of its bytes count, also those after a NUL. */
    assert_int_equal(tokens_check(self->auth, OWN "\0", sizeof OWN, id), 0);
    assert_string_equal(id, "");
}

static void a_token_of_its_own_is_random(void **state)
{
    state_t *self = *state;
    cleanup_tokens tokens_t *one = NULL, *two = NULL;
    fault_t fault;

    assert_int_equal(tokens_new(self->folder, NULL, false, &one, &fault), 0);
    assert_int_equal(tokens_new(self->folder, NULL, false, &two, &fault), 0);
    assert_int_equal(strlen(tokens_token(one)), 48);
    assert_string_not_equal(tokens_token(one), tokens_token(two));
    assert_int_equal(check(one, tokens_token(one)), SCOPE_ALL);
    assert_int_equal(check(one, tokens_token(two)), 0);
}

static void an_empty_token_is_refused(void **state)
{
    state_t *self = *state;
    cleanup_tokens tokens_t *auth = NULL;
    fault_t fault;

    assert_int_equal(tokens_new(self->folder, "", false, &auth, &fault), 0);
    assert_int_equal(check(auth, ""), 0);
}

static void without_tokens_all_scopes_are_granted(void **state)
{
    state_t *self = *state;
    cleanup_tokens tokens_t *auth = NULL;
    char id[TOKEN_ID_SIZE];
    fault_t fault;

    assert_int_equal(tokens_new(self->folder, OWN, true, &auth, &fault), 0);
    assert_true(tokens_is_open(auth));
    assert_int_equal(tokens_check(auth, "", 0, id), SCOPE_ALL);
    assert_string_equal(id, "open");
    /* A scoped token's holder has asked for less. */
    char scoped_id[TOKEN_ID_SIZE];
    cleanup_free char *token = create(self, SCOPE_OBSERVE, scoped_id);
    assert_int_equal(check(auth, token), SCOPE_OBSERVE);
}

static void a_scoped_token_has_its_scopes_until_revoked(void **state)
{
    state_t *self = *state;
    char id[TOKEN_ID_SIZE], found[TOKEN_ID_SIZE], other[TOKEN_ID_SIZE];
    cleanup_free char *token = create(self, SCOPE_OBSERVE | SCOPE_FILES, id);
    cleanup_free char *second = create(self, SCOPE_EXECUTE, other);
    fault_t fault;

    assert_int_equal(tokens_check(self->auth, token, strlen(token), found),
                     SCOPE_OBSERVE | SCOPE_FILES);
    assert_string_equal(found, id);
    assert_null(strstr(token, id));
    assert_int_equal(token_file_revoke(self->folder, id, &fault), 0);
    assert_int_equal(check(self->auth, token), 0);
    assert_int_equal(check(self->auth, second), SCOPE_EXECUTE);
    assert_int_equal(token_file_revoke(self->folder, id, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "hearth token list"));
}

static void windows_are_revoked_beside_tokens(void **state)
{
    state_t *self = *state;
    char id[TOKEN_ID_SIZE];
    cleanup_free char *token = NULL;
    fault_t fault;

    assert_int_equal(tokens_windows_from(self->auth), 0);
    assert_int_equal(
        token_file_revoke_windows(self->folder, 5000000000, &fault), 0);
    assert_int_equal(tokens_windows_from(self->auth), 5000000000);
    token = create(self, SCOPE_OBSERVE, id);
    assert_int_equal(check(self->auth, token), SCOPE_OBSERVE);
    assert_int_equal(token_file_revoke(self->folder, id, &fault), 0);
    assert_int_equal(tokens_windows_from(self->auth), 5000000000);
}

static void file_and_list_contain_no_token(void **state)
{
    state_t *self = *state;
    char id[TOKEN_ID_SIZE];
    cleanup_free char *token = create(self, SCOPE_ADMIN, id);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    json_auto_t *list = NULL;
    struct stat about;
    fault_t fault;

    assert_int_equal(file_read(self->file, 1 << 20, &content, &fault), 0);
    assert_null(memmem(content.data, content.size, token, strlen(token)));
    assert_int_equal(stat(self->file, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(token_file_list(self->folder, &list, &fault), 0);
    assert_int_equal(json_array_size(list), 1);
    json_t *only = json_array_get(list, 0);
    assert_null(json_object_get(only, "hash"));
    assert_string_equal(json_string_value(json_object_get(only, "id")), id);
    json_t *scopes = json_object_get(only, "scopes");
    assert_int_equal(json_array_size(scopes), 1);
    assert_string_equal(json_string_value(json_array_get(scopes, 0)), "admin");
}

static void an_invalid_file_grants_nothing(void **state)
{
    static const char *const bad[] = {
        "", "{", "[]", "{\"tokens\": 7}",
        "{\"tokens\": [7, null, {}, {\"id\": 1}]}",
        /* An id too short, hashes too short, too long, no hexadecimal. */
        "{\"tokens\": [{\"id\": \"a\", \"hash\": \"00\"}]}",
        "{\"tokens\": [{\"id\": \"0123456789abcdef\", \"hash\": \"00\","
        " \"scopes\": [\"admin\"]}]}",
        "{\"tokens\": [{\"id\": \"0123456789abcdef\", \"hash\": \"xyz\","
        " \"scopes\": [\"admin\"]}]}",
        "{\"tokens\": [{\"id\": \"0123456789abcdef\", \"scopes\": [\"admin\"],"
        " \"hash\": \"00000000000000000000000000000000000000000000000000000000"
        "0000000000\"}]}"};
    state_t *self = *state;
    char id[TOKEN_ID_SIZE];
    cleanup_free char *token = create(self, SCOPE_ALL, id);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        write_file(self, bad[i]);
        assert_int_equal(check(self->auth, token), 0);
        assert_int_equal(check(self->auth, ""), 0);
        assert_int_equal(check(self->auth, OWN), SCOPE_ALL);
    }
    /* The file is not overwritten, because it may be a mistake. */
    char *made = NULL;
    fault_t fault;
    write_file(self, "{");
    assert_int_equal(
        token_file_create(self->folder, "x", SCOPE_OBSERVE, &made, id, &fault),
        -EINVAL);
    assert_null(made);
}

static void an_unknown_scope_is_refused(void **state)
{
    (void) state;
    assert_int_equal(token_scopes_parse("observe,execute"),
                     SCOPE_OBSERVE | SCOPE_EXECUTE);
    assert_int_equal(token_scopes_parse("observe,observe"), SCOPE_OBSERVE);
    assert_int_equal(token_scopes_parse("observe,root"), 0);
    assert_int_equal(token_scopes_parse("observe,"), 0);
    assert_int_equal(token_scopes_parse(""), 0);
    assert_int_equal(token_scopes_parse("Observe"), 0);
}

static unsigned check_cookie(tokens_t *auth, const char *value, int64_t now_us)
{
    char id[TOKEN_ID_SIZE] = "no token";
    unsigned scopes =
        tokens_check_cookie(auth, value, strlen(value), now_us, id);

    /* The cookie names its token, which is returned only for a valid one. */
    if (scopes)
        assert_memory_equal(id, value, strlen(id));
    else
        assert_string_equal(id, "no token");
    return scopes;
}

static void
a_cookie_is_good_until_it_expires_or_its_token_is_revoked(void **state)
{
    state_t *self = *state;
    char id[TOKEN_ID_SIZE];
    cleanup_free char *token = create(self, SCOPE_OBSERVE, id);
    cleanup_free char *own = tokens_cookie(self->auth, "gateway", 1000);
    cleanup_free char *scoped = tokens_cookie(self->auth, id, 1000);
    fault_t fault;

    assert_int_equal(check_cookie(self->auth, own, 1000), SCOPE_ALL);
    assert_int_equal(check_cookie(self->auth, own, 1001), 0);
    assert_int_equal(check_cookie(self->auth, scoped, 999), SCOPE_OBSERVE);
    assert_null(strstr(scoped, token));
    assert_true(tokens_has(self->auth, "gateway"));
    assert_true(tokens_has(self->auth, id));
    assert_false(tokens_has(self->auth, "window-1"));
    assert_int_equal(token_file_revoke(self->folder, id, &fault), 0);
    assert_int_equal(check_cookie(self->auth, scoped, 999), 0);
    assert_false(tokens_has(self->auth, id));
}

/* Each character of it changed, each one cut off. */
static void a_forged_cookie_is_refused(void **state)
{
    state_t *self = *state;
    cleanup_free char *good = tokens_cookie(self->auth, "gateway", 1000);
    cleanup_tokens tokens_t *other = NULL;
    fault_t fault;

    for (size_t i = 0; good[i]; i++) {
        cleanup_free char *bad = mem_text(good);

        bad[i] = bad[i] == '1' ? '2' : '1';
        assert_int_equal(check_cookie(self->auth, bad, 0), 0);
        bad[i] = '\0';
        assert_int_equal(check_cookie(self->auth, bad, 0), 0);
    }
    assert_int_equal(check_cookie(self->auth, "..", 0), 0);
    /* Another gateway's life has another key. */
    assert_int_equal(tokens_new(self->folder, OWN, false, &other, &fault), 0);
    assert_int_equal(check_cookie(other, good, 0), 0);
}

static void words_are_compared_whole(void **state)
{
    (void) state;
    assert_true(tokens_equals("same", "same"));
    assert_true(tokens_equals("", ""));
    assert_false(tokens_equals("same", "sam"));
    assert_false(tokens_equals("sam", "same"));
    assert_false(tokens_equals("same", "Same"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_state, end_state)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_own_token_has_all_scopes),
        TEST(a_similar_token_is_refused),
        TEST(a_token_of_its_own_is_random),
        TEST(an_empty_token_is_refused),
        TEST(without_tokens_all_scopes_are_granted),
        TEST(a_scoped_token_has_its_scopes_until_revoked),
        TEST(windows_are_revoked_beside_tokens),
        TEST(file_and_list_contain_no_token),
        TEST(an_invalid_file_grants_nothing),
        cmocka_unit_test(an_unknown_scope_is_refused),
        TEST(a_cookie_is_good_until_it_expires_or_its_token_is_revoked),
        TEST(a_forged_cookie_is_refused),
        cmocka_unit_test(words_are_compared_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
