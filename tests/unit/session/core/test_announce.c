/* Announcements of a session to the registry, frontends and the audit log:
 * their order, their content, and the clocks in them. */
#include "gateway/session/core/announce.h"

#include "gateway/session/core/activity.h"
#include "gateway/session/core/persist.h"
#include "gateway/session/core/session_info.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/request_queue.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <jansson.h>

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static int begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    fake_outside.has_frontend = true;
    return 0;
}

static const char *text(const json_t *model, const char *name)
{
    const char *value = json_string_value(json_object_get(model, name));

    return value ? value : "";
}

static json_int_t number(const json_t *model, const char *name)
{
    return json_integer_value(json_object_get(model, name));
}

static void a_session_is_shown(void **state)
{
    session_t *self = *state;
    json_auto_t *model = NULL;

    self->spec->times.idle_timeout_ms = 90000;
    activity_touch(self);
    request_queue_set_next_count(self->requests, 4);
    model = session_info_of(self);
    assert_string_equal(text(model, "id"), "s1");
    assert_string_equal(text(model, "name"), "a name");
    assert_string_equal(text(model, "profile"), "python");
    assert_string_equal(text(model, "state"), "idle");
    assert_string_equal(text(model, "last_activity"),
                        "2023-11-14T22:13:20.000000Z");
    assert_string_equal(text(model, "expires_at"),
                        "2023-11-14T22:14:50.000000Z");
    assert_int_equal(number(model, "execution_count"), 3);
    assert_int_equal(number(model, "pid"), 4711);
    assert_true(json_is_null(json_object_get(model, "created")));
    assert_string_equal(text(model, "kernel_session"),
                        publisher_kernel_session(self->publisher));
    assert_null(json_object_get(model, "host_uid"));
    assert_null(json_object_get(model, "limits"));
    assert_null(json_object_get(model, "tools"));
    assert_null(json_object_get(model, "packages"));
    assert_null(json_object_get(model, "fetch"));
    assert_null(json_object_get(model, "reason"));
    assert_null(json_object_get(model, "memory_kib"));
}

static void known_values_are_shown(void **state)
{
    session_t *self = *state;
    session_spec_t *spec = self->spec;
    json_auto_t *model = NULL;

    spec->process.has_ids = true;
    spec->process.host_uid = 1234;
    spec->asked.limits = mem_text("{\"memory\":\"1G\"}");
    spec->asked.tools = mem_text("a, b");
    spec->asked.downloads.packages = mem_text("{\"index\":\"\"}");
    spec->asked.downloads.fetch = mem_text("{\"allow\":[]}");
    spec->times.created_us = fake_outside.now_ms * 1000;
    snprintf(spec->end.reason, sizeof spec->end.reason, "memory");
    spec->end.detail = mem_text("too much");
    spec->end.ended_us = fake_outside.now_ms * 1000;
    model = session_info_measured(self);
    assert_int_equal(number(model, "host_uid"), 1234);
    assert_int_equal(number(model, "memory_kib"), 4321);
    assert_string_equal(text(json_object_get(model, "limits"), "memory"), "1G");
    assert_int_equal(json_array_size(json_object_get(model, "tools")), 2);
    assert_string_equal(text(json_object_get(model, "packages"), "index"), "");
    assert_true(json_is_array(
        json_object_get(json_object_get(model, "fetch"), "allow")));
    assert_string_equal(text(model, "reason"), "memory");
    assert_string_equal(text(model, "detail"), "too much");
    assert_string_equal(text(model, "ended"), "2023-11-14T22:13:20.000000Z");
    assert_string_equal(text(model, "created"), "2023-11-14T22:13:20.000000Z");
}

static void without_a_kernel_there_is_no_memory(void **state)
{
    session_t *self = *state;
    json_auto_t *model = NULL;

    kernel_link_close(self->link);
    model = session_info_measured(self);
    assert_null(json_object_get(model, "memory_kib"));
}

static void a_busy_session_does_not_expire(void **state)
{
    session_t *self = *state;
    json_auto_t *busy = NULL, *gone = NULL;

    self->spec->times.idle_timeout_ms = 90000;
    activity_touch(self);
    session_state_step(self->state, STATE_ON_BEGIN);
    busy = session_info_of(self);
    assert_true(json_is_null(json_object_get(busy, "expires_at")));
    session_state_step(self->state, STATE_ON_EXIT);
    gone = session_info_of(self);
    assert_true(json_is_null(json_object_get(gone, "expires_at")));
}

static void a_session_with_a_seed_is_not_ready(void **state)
{
    session_t *self = *state;
    json_auto_t *seeding = NULL, *stopping = NULL;

    self->spec->seed.is_running = true;
    seeding = session_info_of(self);
    assert_string_equal(text(seeding, "state"), "starting");
    session_state_step(self->state, STATE_ON_STOP);
    stopping = session_info_of(self);
    assert_string_equal(text(stopping, "state"), "stopping");
}

static void frontends_learn_each_state_once(void **state)
{
    session_t *self = *state;

    announce_state(self);
    DID("");
    session_state_step(self->state, STATE_ON_BEGIN);
    announce_state(self);
    DID(""); /* `status` messages say busy and idle */
    session_state_step(self->state, STATE_ON_STOP);
    announce_state(self);
    DID("state stopping");
    announce_state(self);
    DID("");
    session_state_step(self->state, STATE_ON_EXIT);
    fake_outside.has_frontend = false;
    announce_state(self);
    DID("");
    assert_int_equal(self->announced_phase, PHASE_GONE);
    fake_outside.has_frontend = true;
    session_state_step(self->state, STATE_ON_RELAUNCH);
    announce_state(self);
    session_state_step(self->state, STATE_ON_READY);
    self->spec->seed.is_running = true;
    announce_state(self);
    DID("state starting");
    self->spec->seed.is_running = false;
    announce_state(self);
    DID("state idle");
}

static void readiness_is_reported_with_the_session(void **state)
{
    session_t *self = *state;

    self->announced_phase = PHASE_STARTING;
    announce_ready(self);
    DID("state idle; READY");
    assert_true(timers_is_running(self->timers, TIMER_START));
    announce_start(self);
    DID("audit session_start ok by gateway");
    announce_start(self);
    DID("");
}

static void a_member_of_the_pool_starts_when_it_is_handed_out(void **state)
{
    session_t *self = *state;

    self->spec->is_pooled = true;
    announce_ready(self);
    assert_false(timers_is_running(self->timers, TIMER_START));
}

static void a_start_is_noted_by_its_timer(void **state)
{
    session_t *self = *state;

    self->spec->asker = mem_text("uid=7");
    announce_on_start(self);
    DID("audit session_start ok by uid=7");
}

static void a_limit_is_counted_and_noted(void **state)
{
    session_t *self = *state;

    announce_limit(self, "processes", 9);
    DID("LIMIT processes; audit limit refused by kernel");
    assert_non_null(strstr(deeds_content("limit"), "\"max\":9"));
}

static void latencies_are_handed_over_once(void **state)
{
    const request_t request = {.frame_type = FRAME_EXECUTE,
                               .came_us = (fake_outside.now_ms - 5) * 1000};
    session_t *self = *state;

    announce_latency(self);
    DID("");
    latency_count(&self->latency, &request, fake_outside.now_ms * 1000);
    timers_start(self->timers, TIMER_LATENCY, 1000);
    announce_on_latency(self);
    DID("LATENCY");
    assert_false(timers_is_running(self->timers, TIMER_LATENCY));
    announce_latency(self);
    DID("");
}

static void a_frontend_is_greeted(void **state)
{
    announce_greet(*state, "http");
    DID("greet http");
}

static void answers_have_the_token(void **state)
{
    announce_session(*state, 3);
    announce_created(*state, 4);
    DID("ANSWERED 3 ok; ANSWERED 4 ok");
}

/* --- Clocks --- */

static void a_session_without_a_timeout_has_no_timer(void **state)
{
    session_t *self = *state;

    activity_touch(self);
    activity_count_lifetime(self);
    assert_false(timers_is_running(self->timers, TIMER_IDLE));
    assert_false(timers_is_running(self->timers, TIMER_LIFETIME));
    assert_int_equal(self->clocks.asked_us, fake_outside.now_ms * 1000);
}

#define KEEPS_MS 10000

/* The last request was `ago_ms` before now, and the last output is now. */
static void print(session_t *self, int64_t ago_ms)
{
    self->spec->times.idle_timeout_ms = 5000;
    self->spec->times.output_timeout_ms = KEEPS_MS;
    activity_note_output(self);
    self->clocks.asked_us = (fake_outside.now_ms - ago_ms) * 1000;
    self->clocks.begun_us = self->clocks.asked_us;
}

static void output_is_activity(void **state)
{
    session_t *self = *state;

    print(self, 7000);
    assert_int_equal(activity_last_us(self), fake_outside.now_ms * 1000);
    assert_true(activity_goes_on(self));
    assert_int_equal(fake_outside.delay_ms, 5000);
    fake_outside.now_ms += 2000;
    assert_true(activity_goes_on(self));
    assert_int_equal(fake_outside.delay_ms, 3000);
    fake_outside.now_ms += 3000;
    assert_false(activity_goes_on(self));
}

static void output_alone_keeps_a_session_for_a_time(void **state)
{
    session_t *self = *state;

    print(self, KEEPS_MS + 1000);
    assert_int_equal(activity_last_us(self),
                     (fake_outside.now_ms - 1000) * 1000);
    assert_true(activity_goes_on(self));
    assert_int_equal(fake_outside.delay_ms, 4000);
    assert_true(activity_is_output_alone(self));
    print(self, KEEPS_MS + 5000);
    assert_false(activity_goes_on(self));
    print(self, 1000);
    assert_false(activity_is_output_alone(self));
}

static void a_clock_that_was_set_back_keeps_no_session(void **state)
{
    session_t *self = *state;

    print(self, 1000);
    fake_outside.now_ms -= 500;
    assert_false(activity_goes_on(self));
}

/* The gateway was gone for longer than output alone keeps the session. */
static void a_take_over_is_no_request(void **state)
{
    session_t *self = *state;

    self->spec->times.asked_us = (fake_outside.now_ms - KEEPS_MS - 1000) * 1000;
    self->spec->times.idle_timeout_ms = 5000;
    self->spec->times.output_timeout_ms = KEEPS_MS;
    activity_take_over(self);
    assert_int_equal(fake_outside.delay_ms, 5000);
    assert_int_equal(activity_last_us(self), fake_outside.now_ms * 1000);
    fake_outside.now_ms += 5000;
    activity_note_output(self);
    assert_true(activity_is_output_alone(self));
    assert_false(activity_goes_on(self));
}

/* It was set back, or an older gateway has left no time. */
static void a_take_over_may_not_know_the_last_request(void **state)
{
    session_t *self = *state;
    int64_t now_us = fake_outside.now_ms * 1000;

    activity_take_over(self);
    assert_int_equal(self->clocks.asked_us, now_us);
    self->spec->times.asked_us = now_us + 1;
    activity_take_over(self);
    assert_int_equal(self->clocks.asked_us, now_us);
}

static void the_last_request_is_kept_on_disk(void **state)
{
    session_t *self = *state;

    activity_touch(self);
    assert_true(timers_is_running(self->timers, TIMER_SAVE));
    (void) persist_now(self);
    assert_int_equal(self->spec->times.asked_us, fake_outside.now_ms * 1000);
    /* Not for each of many short cells. */
    fake_outside.now_ms += 999;
    activity_touch(self);
    assert_false(timers_is_running(self->timers, TIMER_SAVE));
    fake_outside.now_ms += 1;
    activity_touch(self);
    assert_true(timers_is_running(self->timers, TIMER_SAVE));
}

static void output_may_be_no_activity(void **state)
{
    session_t *self = *state;

    print(self, 1000);
    self->spec->times.output_timeout_ms = 0;
    assert_int_equal(activity_last_us(self),
                     (fake_outside.now_ms - 1000) * 1000);
    assert_false(activity_goes_on(self));
}

static void a_tombstone_does_not_time_out(void **state)
{
    session_t *self = *state;

    self->spec->times.idle_timeout_ms = 5;
    session_state_step(self->state, STATE_ON_EXIT);
    activity_touch(self);
    assert_false(timers_is_running(self->timers, TIMER_IDLE));
}

static void a_lifetime_counts_from_its_beginning(void **state)
{
    session_t *self = *state;

    self->spec->times.lifetime_ms = 10000;
    self->spec->times.created_us = (fake_outside.now_ms - 4000) * 1000;
    activity_count_lifetime(self);
    assert_int_equal(fake_outside.delay_ms, 6000);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_shown),
        TEST(known_values_are_shown),
        TEST(without_a_kernel_there_is_no_memory),
        TEST(a_busy_session_does_not_expire),
        TEST(a_session_with_a_seed_is_not_ready),
        TEST(frontends_learn_each_state_once),
        TEST(readiness_is_reported_with_the_session),
        TEST(a_member_of_the_pool_starts_when_it_is_handed_out),
        TEST(a_start_is_noted_by_its_timer),
        TEST(a_limit_is_counted_and_noted),
        TEST(latencies_are_handed_over_once),
        TEST(a_frontend_is_greeted),
        TEST(answers_have_the_token),
        TEST(a_session_without_a_timeout_has_no_timer),
        TEST(output_is_activity),
        TEST(output_alone_keeps_a_session_for_a_time),
        TEST(a_clock_that_was_set_back_keeps_no_session),
        TEST(a_take_over_is_no_request),
        TEST(a_take_over_may_not_know_the_last_request),
        TEST(the_last_request_is_kept_on_disk),
        TEST(output_may_be_no_activity),
        TEST(a_tombstone_does_not_time_out),
        TEST(a_lifetime_counts_from_its_beginning),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
