#include "gateway/session/requests/revive.h"
#include "tests/lib/test.h"

#include <string.h>

static const request_t cell = {.is_execute = true};

static void expect(const revive_t *self, const request_t *request,
                   const char *metadata)
{
    cleanup_buffer buffer_t extended = BUFFER_EMPTY;
    bytes_t got = revive_extend(self, request, text_bytes("{}"), &extended);

    assert_int_equal(got.size, strlen(metadata));
    assert_memory_equal(got.bytes, metadata, got.size);
}

static void the_next_reply_has_the_report(void **state)
{
    cleanup_revive revive_t *self = revive_new();

    (void) state;
    expect(self, &cell, "{}");
    revive_keep(self, text_bytes("{\"a\":1}"));
    revive_keep(self, text_bytes("{\"b\":2}"));
    expect(self, &cell, "{\"hearth\":{\"revived\":{\"b\":2}}}");
    revive_note_reply(self, &cell);
    expect(self, &cell, "{}");
}

static void a_revival_without_readers_has_no_report(void **state)
{
    static const request_t others[] = {
        {.is_execute = false},
        {.is_execute = true, .silent = true},
        {.is_execute = true, .is_revival = true},
        {.is_execute = true, .is_seed = true},
    };
    cleanup_revive revive_t *self = revive_new();
    cleanup_buffer buffer_t report = BUFFER_EMPTY;

    (void) state;
    revive_write_unfinished(&report);
    revive_keep(self, buffer_bytes(&report));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        expect(self, &others[i], "{}");
        revive_note_reply(self, &others[i]);
    }
    {
        cleanup_buffer buffer_t extended = BUFFER_EMPTY;
        bytes_t got = revive_extend(self, &cell, text_bytes("{}"), &extended);

        assert_non_null(memmem(got.bytes, got.size, report.data, report.size));
    }
}

static void metadata_that_is_no_object_stays(void **state)
{
    cleanup_revive revive_t *self = revive_new();
    cleanup_buffer buffer_t extended = BUFFER_EMPTY;
    bytes_t got;

    (void) state;
    revive_keep(self, text_bytes("{}"));
    got = revive_extend(self, &cell, text_bytes("[]"), &extended);
    assert_int_equal(got.size, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_reply_has_the_report),
        cmocka_unit_test(a_revival_without_readers_has_no_report),
        cmocka_unit_test(metadata_that_is_no_object_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
