#include "base/fault.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static void writes_one_line(void **state)
{
    (void) state;
    fault_t fault;
    assert_int_equal(fault_set(&fault, ENOENT, "open %s", "/x"), -ENOENT);
    assert_int_equal(fault.code, ENOENT);
    assert_string_equal(fault.text, "open /x");
}

static void is_wrapped_by_the_caller(void **state)
{
    (void) state;
    fault_t fault;
    fault_set(&fault, EACCES, "open /x");
    assert_int_equal(fault_wrap(&fault, "mount %d", 3), -EACCES);
    assert_string_equal(fault.text, "mount 3: open /x");
}

static void may_be_set_from_its_own_text(void **state)
{
    (void) state;
    fault_t fault;
    fault_set(&fault, EIO, "inner");
    fault_set(&fault, EIO, "outer, %s", fault.text);
    assert_string_equal(fault.text, "outer, inner");
}

static void cuts_a_long_text(void **state)
{
    (void) state;
    char wide[600];
    memset(wide, 'x', sizeof wide - 1);
    wide[sizeof wide - 1] = '\0';
    fault_t fault;
    fault_set(&fault, EIO, "%s", wide);
    assert_int_equal(strlen(fault.text), sizeof fault.text - 1);
    fault_wrap(&fault, "%s", wide);
    assert_int_equal(strlen(fault.text), sizeof fault.text - 1);
}

static void does_not_tear_a_character(void **state)
{
    (void) state;
    char wide[400] = "";
    for (size_t i = 0; i + 3 < sizeof wide; i += 3)
        memcpy(wide + i, "\xE2\x82\xAC", 4);
    fault_t fault;
    /* Wherever the cut falls. */
    static const char *const before[] = {"", "a", "ab"};
    for (size_t i = 0; i < 3; i++) {
        fault_set(&fault, EIO, "%s%s", before[i], wide);
        size_t size = strlen(fault.text) - i;
        assert_int_equal(size % 3, 0);
        assert_memory_equal(fault.text + i, wide, size);
        assert_true(size >= sizeof fault.text - 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_one_line),
        cmocka_unit_test(is_wrapped_by_the_caller),
        cmocka_unit_test(may_be_set_from_its_own_text),
        cmocka_unit_test(cuts_a_long_text),
        cmocka_unit_test(does_not_tear_a_character),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
