/* UUIDs as text. */
#include "base/uuid.h"
#include "tests/lib/test.h"

#include <string.h>

static void writes_version_and_variant(void **state)
{
    static const uint8_t bytes[16] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xAB,
                                      0xCD, 0xEF, 0xFE, 0xDC, 0xBA, 0x98,
                                      0x76, 0x54, 0x32, 0x10};
    static const uint8_t low[16] = {0};
    char text[UUID_SIZE + 1];

    (void) state;
    uuid_write(bytes, 4, text);
    assert_string_equal(text, "01234567-89ab-4def-bedc-ba9876543210");
    uuid_write(low, 8, text);
    assert_string_equal(text, "00000000-0000-8000-8000-000000000000");
}

static void knows_how_a_uuid_begins(void **state)
{
    static const char *const others[] = {
        "",
        "01234567-89ab-4def-bedc-ba987654321",
        "01234567-89ab-4def-bedc-ba987654321G",
        "01234567-89AB-4def-bedc-ba9876543210",
        "012345678-9ab-4def-bedc-ba9876543210",
        "-1234567-89ab-4def-bedc-ba9876543210",
    };

    (void) state;
    assert_true(uuid_begins("01234567-89ab-4def-bedc-ba9876543210"));
    assert_true(uuid_begins("01234567-89ab-cdef-0123-ba9876543210.more"));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(uuid_begins(others[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_version_and_variant),
        cmocka_unit_test(knows_how_a_uuid_begins),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
