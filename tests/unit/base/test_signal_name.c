#include "base/signal_name.h"
#include "tests/lib/test.h"

#include <signal.h>

static void knows_signals_with_and_without_SIG(void **state)
{
    (void) state;
    assert_int_equal(signal_name_number("TERM"), SIGTERM);
    assert_int_equal(signal_name_number("SIGKILL"), SIGKILL);
    assert_int_equal(signal_name_number("SIG"), 0);
    assert_int_equal(signal_name_number("term"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_signals_with_and_without_SIG),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
