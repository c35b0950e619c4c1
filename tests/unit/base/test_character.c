/* Characters that people do not see as themselves. */
#include "base/character.h"
#include "tests/lib/test.h"

#include <stddef.h>

#define EVERY (~0u)

static void knows_each_kind(void **state)
{
    static const struct {
        uint32_t code;
        character_kind_t kind;
    } characters[] = {
        {0x00, CHARACTER_CONTROL},      {0x1F, CHARACTER_CONTROL},
        {0x7F, CHARACTER_CONTROL},      {0x9F, CHARACTER_CONTROL},
        {0xAD, CHARACTER_INVISIBLE},    {0x600, CHARACTER_FORMAT},
        {0x200B, CHARACTER_INVISIBLE},  {0x200D, CHARACTER_JOINER},
        {0x200F, CHARACTER_INVISIBLE},  {0x2028, CHARACTER_SEPARATOR},
        {0x202A, CHARACTER_BIDI},       {0x202E, CHARACTER_BIDI},
        {0x2065, CHARACTER_INVISIBLE},  {0x2066, CHARACTER_BIDI},
        {0x2069, CHARACTER_BIDI},       {0x206A, CHARACTER_INVISIBLE},
        {0xE000, CHARACTER_PRIVATE},    {0x1D17A, CHARACTER_INVISIBLE},
        {0xE0041, CHARACTER_INVISIBLE}, {0x10FFFD, CHARACTER_PRIVATE},
    };

    (void) state;
    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        unsigned kind = characters[i].kind;
        assert_true(character_is(characters[i].code, kind));
        assert_false(character_is(characters[i].code, EVERY & ~kind));
    }
}

static void leaves_what_is_seen(void **state)
{
    static const uint32_t seen[] = {' ',    '~',    0xA0,   0xE9,    0x5D0,
                                    0x4E00, 0x20AC, 0xFFFC, 0x1F600, 0x10FFFF};

    (void) state;
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        assert_false(character_is(seen[i], EVERY));
}

/* The search ends at the first range that does not end before the code. */
static void ranges_are_in_order(void **state)
{
    uint32_t found = 0;

    (void) state;
    for (uint32_t code = 0; code <= 0x110000; code++)
        found += character_is(code, EVERY);
    assert_int_equal(found, 0x20 + 0x21 + 1 + 6 + 1 + 1 + 1 + 2 + 1 + 1 + 5 + 7
                                + 16 + 0x1900 + 1 + 3 + 1 + 1 + 16 + 4 + 8
                                + 0x1000 + 0xFFFE + 0xFFFE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_each_kind),
        cmocka_unit_test(leaves_what_is_seen),
        cmocka_unit_test(ranges_are_in_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
