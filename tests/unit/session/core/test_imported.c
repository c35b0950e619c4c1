/* What a client hears about imports of packages that it has changed: the
 * kernel's hint, and null if there is none. */
#include "gateway/session/core/imported.h"

#include "gateway/session/actor/control.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/termination.h"
#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define CHANGED                                                                \
    "{\"status\":\"ok\",\"added\":[{\"name\":\"a\",\"version\":\"1\"}],"       \
    "\"changed\":[{\"name\":\"b\",\"from\":\"1\",\"to\":\"2\"}]}"

static int begin(void **state)
{
    if (fake_session_begin_ready(state) < 0)
        return -1;
    ((session_t *) *state)->unanswered.imported.is_known = true;
    return 0;
}

static void ask(session_t *self, uint64_t token)
{
    session_command_t *command =
        session_command_new_text(SESSION_LOOK, token, CHANGED);

    control_take(self, &command);
}

static void says_to(session_t *self, int64_t number, const char *imported)
{
    cleanup_free char *content = mem_format("{\"look\":%lld,\"imported\":%s}",
                                            (long long) number, imported);

    fake_kernel_says(FRAME_LOOKED, 0, content);
    kernel_events_read(self);
}

static int64_t last_question(const session_t *self)
{
    return self->unanswered.imported.number;
}

/* The kernel answers the last question. */
static void says(session_t *self, const char *imported)
{
    says_to(self, last_question(self), imported);
}

static void hears(const char *restart)
{
    DID("ANSWERED 7 ok");
    assert_string_equal(deeds_content("restart"), restart);
}

static void the_kernel_is_asked(void **state)
{
    session_t *self = *state;

    ask(self, 7);
    DID("kernel LOOK");
    cleanup_free char *asked =
        mem_format("{\"look\":%lld,\"names\":[\"a\",\"b\"]}",
                   (long long) last_question(self));
    assert_string_equal(deeds_content("LOOK"), asked);
    assert_true(timers_is_running(self->timers, TIMER_IMPORTED));
    says(self, "[\"b\"]");
    hears("[\"b\"]");
    assert_false(timers_is_running(self->timers, TIMER_IMPORTED));
    says(self, "[\"a\"]"); /* again: not awaited */
    DID("");
    assert_string_equal(deeds_content("journal looked"), "{}");
}

/* Chooses among the names, whatever the kernel says. */
static void a_hint_is_bounded(void **state)
{
    static const struct {
        const char *imported, *restart;
    } rows[] = {
        {"[]", "[]"},
        {"[\"b\",\"a\"]", "[\"a\",\"b\"]"},
        {"[\"a\",\"a\"]", "[\"a\"]"},
        {"[\"c\",\"\\u0000\"]", "[]"},
        {"[1,null]", "[]"},
        {"[\"b\",[\"a\"]]", "[\"b\"]"},
        {"[\"a\",\"b\",\"c\"]", "null"},
        {"null", "null"},
        {"{\"a\":1}", "null"},
        {"\"a\"", "null"},
    };
    session_t *self = *state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ask(self, 7);
        DID("kernel LOOK");
        says(self, rows[i].imported);
        hears(rows[i].restart);
    }
    ask(self, 7);
    DID("kernel LOOK");
    cleanup_free char *bare =
        mem_format("{\"look\":%lld}", (long long) last_question(self));
    fake_kernel_says(FRAME_LOOKED, 0, bare);
    kernel_events_read(self);
    hears("null");
}

static void a_late_hint_is_of_another_question(void **state)
{
    session_t *self = *state;
    int64_t first;

    ask(self, 7);
    DID("kernel LOOK");
    first = last_question(self);
    imported_give_up(self);
    hears("null");
    imported_give_up(self);
    ask(self, 8);
    DID("kernel LOOK");
    says_to(self, first, "[\"a\"]");
    DID("");
    says(self, "[\"b\"]");
    DID("ANSWERED 8 ok");
    assert_string_equal(deeds_content("restart"), "[\"b\"]");
}

/* The kernel owes an answer to the gateway before, which had another epoch. */
static void a_hint_for_the_gateway_before_is_no_answer(void **state)
{
    session_t *self = *state;

    ask(self, 7);
    DID("kernel LOOK");
    assert_int_equal(last_question(self) >> 32, self->spec->epoch);
    says_to(self, 1, "[\"a\"]");
    DID("");
    says(self, "[]");
    hears("[]");
}

static void a_newer_question_ends_the_older_one(void **state)
{
    session_t *self = *state;

    ask(self, 7);
    DID("kernel LOOK");
    ask(self, 8);
    DID("ANSWERED 7 ok; kernel LOOK");
    assert_string_equal(deeds_content("restart"), "null");
    says(self, "[]");
    DID("ANSWERED 8 ok");
    assert_string_equal(deeds_content("restart"), "[]");
}

static void a_kernel_with_a_cell_is_not_asked(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    ask(self, 7);
    hears("null");
}

static void a_fresh_kernel_has_imported_nothing(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_STOP);
    ask(self, 7);
    hears("[]");
    session_state_step(self->state, STATE_ON_RELAUNCH);
    ask(self, 7);
    hears("[]");
}

static void a_kernel_from_before_is_not_asked(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_HELLO);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":0,\"looks\":1}");
    kernel_events_read(self);
    ask(self, 7);
    hears("null");
    session_state_step(self->state, STATE_ON_HELLO);
    fake_kernel_says(FRAME_WELCOME, 0, "{\"last\":0,\"looks\":true}");
    kernel_events_read(self);
    ask(self, 7);
    DID("kernel LOOK");
    fake_outside.is_mute = true;
    ask(self, 8);
    DID("ANSWERED 7 ok; ANSWERED 8 ok");
}

static void the_end_of_a_kernel_answers(void **state)
{
    session_t *self = *state;

    ask(self, 7);
    DID("kernel LOOK");
    fake_session_die(self, 9);
    assert_non_null(strstr(deeds_take(), "ANSWERED 7 ok"));
    assert_string_equal(deeds_content("restart"), "null");
    ask(self, 8);
    assert_non_null(strstr(deeds_take(), "ANSWERED 8 ok"));
}

static void a_gateway_that_stops_answers(void **state)
{
    session_t *self = *state;
    session_command_t *command = session_command_new(SESSION_DRAIN, 0);

    ask(self, 7);
    DID("kernel LOOK");
    control_take(self, &command);
    control_on_drain(self);
    DID("ANSWERED 7 ok; DRAINED");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_kernel_is_asked),
        TEST(a_hint_is_bounded),
        TEST(a_late_hint_is_of_another_question),
        TEST(a_hint_for_the_gateway_before_is_no_answer),
        TEST(a_newer_question_ends_the_older_one),
        TEST(a_kernel_with_a_cell_is_not_asked),
        TEST(a_fresh_kernel_has_imported_nothing),
        TEST(a_kernel_from_before_is_not_asked),
        TEST(the_end_of_a_kernel_answers),
        TEST(a_gateway_that_stops_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
