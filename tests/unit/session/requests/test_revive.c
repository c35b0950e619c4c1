#include "gateway/session/requests/revive.h"
#include "tests/lib/test.h"

#include <string.h>

static const request_t cell = {.frame_type = FRAME_EXECUTE};

static void expect(const revive_t *self, const request_t *request,
                   const char *expected)
{
    cleanup_buffer buffer_t members = BUFFER_EMPTY;

    revive_write(self, request, &members);
    assert_int_equal(members.size, strlen(expected));
    assert_memory_equal(members.data, expected, members.size);
}

static void the_next_reply_has_the_report(void **state)
{
    cleanup_revive revive_t *self = revive_new();

    (void) state;
    expect(self, &cell, "");
    revive_keep(self, text_bytes("{\"a\":1}"));
    revive_keep(self, text_bytes("{\"b\":2}"));
    expect(self, &cell, "\"revived\":{\"b\":2}");
    revive_note_reply(self, &cell);
    expect(self, &cell, "");
}

static void a_revival_without_readers_has_no_report(void **state)
{
    static const request_t others[] = {
        {.frame_type = 0},
        {.frame_type = FRAME_EXECUTE, .silent = true},
        {.frame_type = FRAME_EXECUTE, .purpose = REQUEST_FOR_REVIVAL},
        {.frame_type = FRAME_EXECUTE, .purpose = REQUEST_FOR_SEED},
    };
    cleanup_revive revive_t *self = revive_new();
    cleanup_buffer buffer_t report = BUFFER_EMPTY;

    (void) state;
    revive_write_unfinished(&report);
    revive_keep(self, buffer_bytes(&report));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        expect(self, &others[i], "");
        revive_note_reply(self, &others[i]);
    }
    {
        cleanup_buffer buffer_t members = BUFFER_EMPTY;

        revive_write(self, &cell, &members);
        assert_non_null(
            strstr((const char *) members.data, (const char *) report.data));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_reply_has_the_report),
        cmocka_unit_test(a_revival_without_readers_has_no_report),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
