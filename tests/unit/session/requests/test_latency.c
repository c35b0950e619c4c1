#include "gateway/session/requests/latency.h"
#include "tests/lib/test.h"

static void collects_until_it_is_taken(void **state)
{
    latency_t self = {0};
    request_t request = {.came_us = 1000};
    histogram_t seen;

    (void) state;
    assert_true(latency_is_empty(&self));
    latency_count(&self, &request, 1500);
    latency_count(&self, &request, 3000);
    assert_false(latency_is_empty(&self));
    seen = latency_take(&self);
    assert_int_equal(seen.count, 2);
    assert_int_equal(seen.us, 2500);
    assert_true(latency_is_empty(&self));
}

static void counts_clients_that_wait_alone(void **state)
{
    latency_t self = {0};
    request_t own = {.came_us = 0};
    request_t answered = {.came_us = 1000, .progress = REQUEST_ANSWERED};

    (void) state;
    latency_count(&self, &own, 1500);
    latency_count(&self, &answered, 1500);
    assert_true(latency_is_empty(&self));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collects_until_it_is_taken),
        cmocka_unit_test(counts_clients_that_wait_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
