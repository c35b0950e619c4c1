/* A wakeup in libwebsockets' own list, whose time the test does not await. */
#include "gateway/http/core/wakeup.h"

#include "tests/lib/test.h"

static sul_cb_t on_time; /* as it was scheduled; NULL: nothing is */
static lws_usec_t delay_us;

void __wrap_lws_sul_schedule(struct lws_context *context, int tsi,
                             lws_sorted_usec_list_t *entry, sul_cb_t fn,
                             lws_usec_t us);
void __wrap_lws_sul_cancel(lws_sorted_usec_list_t *entry);
struct lws_context *__wrap_lws_get_context(const struct lws *wsi);

void __wrap_lws_sul_schedule(struct lws_context *context, int tsi,
                             lws_sorted_usec_list_t *entry, sul_cb_t fn,
                             lws_usec_t us)
{
    (void) context;
    (void) tsi;
    (void) entry;
    on_time = fn;
    delay_us = us;
}

void __wrap_lws_sul_cancel(lws_sorted_usec_list_t *entry)
{
    (void) entry;
    on_time = NULL;
}

struct lws_context *__wrap_lws_get_context(const struct lws *wsi)
{
    (void) wsi;
    return NULL;
}

static void count(void *arg)
{
    ++*(int *) arg;
}

static void calls_its_function_when_it_is_time(void **state)
{
    exchange_t exchange = {0};
    wakeup_t self = {0};
    int calls = 0;

    (void) state;
    wakeup_set(&self, &exchange, 700, count, &calls);
    assert_int_equal(delay_us, 700000);
    assert_int_equal(calls, 0);
    on_time(&self.entry);
    assert_int_equal(calls, 1);
}

static void is_taken_back(void **state)
{
    exchange_t exchange = {0};
    wakeup_t self = {0};
    int calls = 0;

    (void) state;
    wakeup_set(&self, &exchange, 1, count, &calls);
    assert_non_null(on_time);
    wakeup_cancel(&self);
    assert_null(on_time);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_its_function_when_it_is_time),
        cmocka_unit_test(is_taken_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
