/* A session ends with the process that it belongs to; whether that has ended is
 * what the test says. */
#include "gateway/session/core/holding.h"

#include "gateway/session/lifecycle/holder.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <errno.h>

int __wrap_holder_watch(holder_t *self, const holder_id_t *id, fault_t *fault);
bool __wrap_holder_has_ended(const holder_t *self);

static struct {
    bool is_missing; /* it had ended before it was watched */
    bool has_ended;
    pid_t pid; /* that is watched */
} process;

int __wrap_holder_watch(holder_t *self, const holder_id_t *id, fault_t *fault)
{
    (void) self;
    process.pid = id->pid;
    return process.is_missing ? fault_set(fault, ESRCH, "no such process") : 0;
}

bool __wrap_holder_has_ended(const holder_t *self)
{
    (void) self;
    return process.has_ended;
}

static int begin(void **state)
{
    session_t *self;

    if (fake_session_begin_ready(state) < 0)
        return -1;
    self = *state;
    self->spec->holder.pid = 7;
    memset(&process, 0, sizeof process);
    return 0;
}

static void check_end(session_t *self)
{
    assert_string_equal(deeds_take(), "kill");
    assert_true(session_state_is(self->state, PHASE_STOPPING));
    assert_string_equal(self->cause.detail, "its process, pid 7, has ended");
}

static void a_process_is_watched(void **state)
{
    session_t *self = *state;

    holding_begin(self);
    assert_int_equal(process.pid, 7);
    assert_false(session_state_is(self->state, PHASE_STOPPING));
    assert_false(holding_end_if_over(self));
    assert_string_equal(deeds_take(), "");
}

static void a_process_that_is_gone_ends_the_session_at_once(void **state)
{
    process.is_missing = true;
    holding_begin(*state);
    check_end(*state);
}

static void a_request_after_its_end_is_not_served(void **state)
{
    holding_begin(*state);
    process.has_ended = true;
    assert_true(holding_end_if_over(*state));
    check_end(*state);
    assert_true(holding_end_if_over(*state));
    assert_string_equal(deeds_take(), "");
}

static void news_of_its_end_end_the_session(void **state)
{
    holding_on_end(*state);
    check_end(*state);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_process_is_watched),
        TEST(a_process_that_is_gone_ends_the_session_at_once),
        TEST(a_request_after_its_end_is_not_served),
        TEST(news_of_its_end_end_the_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
