#include "gateway/http/core/range.h"
#include "tests/lib/test.h"

#define FILE_SIZE 1000

static void assert_part(const char *text, uint64_t size, uint64_t from,
                        uint64_t count)
{
    byte_range_t range = {7, 7};

    assert_int_equal(range_read(text, size, &range), RANGE_PART);
    assert_int_equal(range.from, from);
    assert_int_equal(range.size, count);
}

static void reads_the_examples_of_the_rfc(void **state)
{
    (void) state;
    assert_part("bytes=0-499", FILE_SIZE, 0, 500);
    assert_part("bytes=500-999", FILE_SIZE, 500, 500);
    assert_part("bytes=-500", FILE_SIZE, 500, 500);
    assert_part("bytes=500-", FILE_SIZE, 500, 500);
    assert_part("bytes=0-0", FILE_SIZE, 0, 1);
    assert_part("bytes=-1", FILE_SIZE, 999, 1);
    /* Units are compared without regard to case. */
    assert_part("Bytes=1-1", FILE_SIZE, 1, 1);
}

static void ends_with_the_file(void **state)
{
    (void) state;
    assert_part("bytes=999-", FILE_SIZE, 999, 1);
    assert_part("bytes=999-1000", FILE_SIZE, 999, 1);
    assert_part("bytes=1-999999999999999999", FILE_SIZE, 1, 999);
    assert_part("bytes=-1000", FILE_SIZE, 0, FILE_SIZE);
    assert_part("bytes=-1001", FILE_SIZE, 0, FILE_SIZE);
    assert_part("bytes=-999999999999999999", FILE_SIZE, 0, FILE_SIZE);
    assert_part("bytes=0-", UINT64_MAX, 0, UINT64_MAX);
    assert_part("bytes=0-0", 1, 0, 1);
}

static void refuses_a_range_after_the_end(void **state)
{
    static const struct {
        const char *text;
        uint64_t size;
    } cases[] = {
        {"bytes=1000-", FILE_SIZE},
        {"bytes=1000-1000", FILE_SIZE},
        {"bytes=999999999999999999-", FILE_SIZE},
        {"bytes=-0", FILE_SIZE},
        /* Of an empty file there is no part. */
        {"bytes=0-", 0},
        {"bytes=0-0", 0},
        {"bytes=-1", 0},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        byte_range_t range;
        assert_int_equal(range_read(cases[i].text, cases[i].size, &range),
                         RANGE_NONE);
    }
}

/* RFC 9110, 14.2: a server may ignore the field, and must ignore an invalid
 * one. */
static void gives_the_whole_file_for_an_invalid_range(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "bytes",
        "bytes=",
        "bytes=-",
        "bytes=--1",
        "bytes=5",
        "bytes=2-1",
        "bytes=1-2-3",
        "bytes=1+2",
        "bytes=1:2",
        "bytes=0-1x",
        "bytes=x-1",
        "bytes=+1-2",
        "bytes=1-+2",
        "bytes=0x1-2",
        "bytes= 0-1",
        "bytes=0 -1",
        "bytes =0-1",
        "bytes=-1 ",
        "items=0-1",
        "\xff\xfe=0-1",
        /* Several, with and without a common byte. */
        "bytes=0-1,3-4",
        "bytes=0-9,5-14",
        "bytes=-1,-2",
        "bytes=0-,0-,0-,0-",
        ",bytes=0-1",
        /* Past what is a size: 2^63, 2^64, 2^64 + 1 and more. */
        "bytes=9223372036854775808-",
        "bytes=18446744073709551616-",
        "bytes=0-18446744073709551617",
        "bytes=-18446744073709551617",
        "bytes=0000000000000000000-0",
        "bytes=99999999999999999999999999999999999999999999-",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        byte_range_t range = {7, 7};
        assert_int_equal(range_read(texts[i], FILE_SIZE, &range), RANGE_WHOLE);
        assert_int_equal(range.from, 0);
        assert_int_equal(range.size, FILE_SIZE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_examples_of_the_rfc),
        cmocka_unit_test(ends_with_the_file),
        cmocka_unit_test(refuses_a_range_after_the_end),
        cmocka_unit_test(gives_the_whole_file_for_an_invalid_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
