/* The state of a call that is repeated: what was written is read for the same
 * call of the same client, while it is good, and nothing else is. */
#include "gateway/http/mcp/protocol/request_state.h"
#include "tests/lib/test.h"

#include <sodium.h>

#include <string.h>

#define RUN                                                                    \
    "00112233-4455-6677-8899-aabbccddeeff.ffeeddcc-bbaa-4998-8776-"            \
    "655443322110"

static const uint8_t key[REQUEST_STATE_KEY] = "a key";
static const uint8_t other_key[REQUEST_STATE_KEY] = "another one";
static const request_state_t state = {
    .run = RUN, .question = 12345678901234567890u, .until_s = 1000};

static request_state_owner_t owner_of(const uint8_t *with, const char *who,
                                      const char *call)
{
    return (request_state_owner_t){
        .key = with, .principal = who, .call = text_bytes(call)};
}

static char *write_state(void)
{
    const request_state_owner_t owner = owner_of(key, "token=a", "call");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    request_state_write(&state, &owner, &out);
    return mem_copy((const char *) out.data, out.size);
}

static void reads_what_it_has_written(void **unused)
{
    const request_state_owner_t owner = owner_of(key, "token=a", "call");
    cleanup_free char *text = write_state();
    request_state_t found;

    (void) unused;
    assert_true(request_state_read(text, &owner, 1000, &found));
    assert_string_equal(found.run, RUN);
    assert_int_equal(found.question, state.question);
    assert_int_equal(found.until_s, 1000);
    assert_false(request_state_read(text, &owner, 1001, &found));
}

static void is_good_for_one_call_of_one_client(void **unused)
{
    const request_state_owner_t others[] = {
        owner_of(other_key, "token=a", "call"),
        owner_of(key, "token=b", "call"),
        owner_of(key, "token=a", "call2"),
        owner_of(key, "token=a", ""),
        owner_of(key, "", "token=acall"),
    };
    cleanup_free char *text = write_state();
    request_state_t found;

    (void) unused;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(request_state_read(text, &others[i], 0, &found));
}

static void refuses_every_other_text(void **unused)
{
    static const char *const texts[] = {
        NULL, "", ".", "...", RUN, RUN ".1.1000.", RUN ".1.1000.00",
    };
    const request_state_owner_t owner = owner_of(key, "token=a", "call");
    cleanup_free char *text = write_state();
    request_state_t found;

    (void) unused;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(request_state_read(texts[i], &owner, 0, &found));
    for (size_t i = 0; text[i]; i++) {
        text[i] ^= 1;
        assert_false(request_state_read(text, &owner, 0, &found));
        text[i] ^= 1;
    }
    for (size_t i = strlen(text); i > 0; i--) {
        text[i - 1] = '\0';
        assert_false(request_state_read(text, &owner, 0, &found));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_has_written),
        cmocka_unit_test(is_good_for_one_call_of_one_client),
        cmocka_unit_test(refuses_every_other_text),
    };

    if (sodium_init() < 0)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
