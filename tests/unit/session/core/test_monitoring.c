/* The effects of a look at a kernel's resources, and of limits that the kernel
 * reports itself. The test sets what the monitor reports. */
#include "gateway/session/core/monitoring.h"

#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/resource_monitor.h"
#include "tests/lib/checked.h"
#include "tests/lib/session_steps.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define RUNS(name)    timers_is_running(self->timers, TIMER_##name)
#define HAS(text, of) assert_non_null(strstr(of, text))

static resource_verdict_t verdict; /* of the next look */
static int64_t pace_ms;            /* to the look after it */
static bool was_quiet;             /* what the pace was asked with */
static int64_t seen_cell;          /* what a look was asked with */
static bool has_group, was_slow;
static uint64_t compactions;
static unsigned rests;
static const char *left; /* by the end of the group; or NULL */
static char noted[200];  /* the last note in the journal */

void __wrap_resource_monitor_look(resource_monitor_t *self, pid_t pid,
                                  int64_t cell, resource_verdict_t *ret);
void __wrap_resource_monitor_explain(resource_monitor_t *self,
                                     const kernel_end_t *end, int64_t cell,
                                     resource_verdict_t *ret);
int64_t __wrap_resource_monitor_pace(resource_monitor_t *self, int64_t took_ms,
                                     bool is_quiet);
cgroup_t *__wrap_resource_monitor_group(const resource_monitor_t *self);
char *__wrap_resource_monitor_end(resource_monitor_t *self);
bool __wrap_resource_monitor_hurry(resource_monitor_t *self);
void __wrap_resource_monitor_rest(resource_monitor_t *self);
uint64_t __wrap_journal_compactions(const journal_t *self);
int __wrap_publisher_note(publisher_t *self, const char *type, uint64_t request,
                          const char *content, fault_t *fault);

void __wrap_resource_monitor_look(resource_monitor_t *self, pid_t pid,
                                  int64_t cell, resource_verdict_t *ret)
{
    (void) self;
    assert_int_equal(pid, 4711);
    seen_cell = cell;
    *ret = verdict;
}

void __wrap_resource_monitor_explain(resource_monitor_t *self,
                                     const kernel_end_t *end, int64_t cell,
                                     resource_verdict_t *ret)
{
    (void) self;
    (void) end;
    seen_cell = cell;
    *ret = verdict;
}

int64_t __wrap_resource_monitor_pace(resource_monitor_t *self, int64_t took_ms,
                                     bool is_quiet)
{
    (void) self;
    assert_int_equal(took_ms, 0);
    was_quiet = is_quiet;
    return pace_ms;
}

cgroup_t *__wrap_resource_monitor_group(const resource_monitor_t *self)
{
    (void) self;
    return has_group ? (cgroup_t *) &verdict : NULL;
}

char *__wrap_resource_monitor_end(resource_monitor_t *self)
{
    (void) self;
    return left ? mem_text(left) : NULL;
}

bool __wrap_resource_monitor_hurry(resource_monitor_t *self)
{
    (void) self;
    return was_slow;
}

void __wrap_resource_monitor_rest(resource_monitor_t *self)
{
    (void) self;
    rests++;
}

uint64_t __wrap_journal_compactions(const journal_t *self)
{
    (void) self;
    return compactions;
}

int __wrap_publisher_note(publisher_t *self, const char *type, uint64_t request,
                          const char *content, fault_t *fault)
{
    (void) self;
    (void) request;
    assert_string_equal(type, "limit");
    snprintf(noted, sizeof noted, "%s", content);
    return fake_outside.is_journal_lost ? fault_set(fault, ENOSPC, "no space")
                                        : 0;
}

static int begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    verdict = (resource_verdict_t){0};
    pace_ms = 250;
    has_group = was_slow = was_quiet = false;
    seen_cell = -1;
    compactions = 0;
    rests = 0;
    left = NULL;
    return 0;
}

static void looks_begin_and_end_with_a_kernel(void **state)
{
    session_t *self = *state;

    monitoring_begin(self, "");
    assert_true(RUNS(RESOURCES));
    assert_int_equal(fake_outside.delay_ms, 250);
    monitoring_end(self);
    assert_false(RUNS(RESOURCES));
    monitoring_adopt(self);
    assert_true(RUNS(RESOURCES));
}

/* Whether the session goes on with another kernel or not: this is the one place
 * where a kernel's group ends. */
static void a_group_that_is_left_goes_to_the_registry(void **state)
{
    session_t *self = *state;

    monitoring_begin(self, "");
    monitoring_end(self);
    DID("");
    left = "a.1";
    monitoring_end(self);
    DID("LEFT a.1");
    assert_false(RUNS(RESOURCES));
}

static void a_look_is_followed_by_another(void **state)
{
    session_t *self = *state;

    pace_ms = 333;
    monitoring_on_timer(self);
    assert_true(RUNS(RESOURCES));
    assert_int_equal(fake_outside.delay_ms, 333);
    assert_int_equal(seen_cell, 0);
    assert_false(was_quiet);
    fake_session_run(self);
    monitoring_on_timer(self);
    assert_int_equal(seen_cell, 1);
    DID("");
}

static void no_look_at_what_has_ended(void **state)
{
    session_t *self = *state;

    session_state_step(self->state, STATE_ON_STOP);
    monitoring_on_timer(self);
    kernel_link_close(self->link);
    monitoring_on_timer(self);
    session_state_step(self->state, STATE_ON_EXIT);
    monitoring_on_timer(self);
    assert_int_equal(seen_cell, -1);
    assert_false(RUNS(RESOURCES));
}

static void a_session_without_a_kernel_is_not_looked_at(void **state)
{
    session_t *self = *state;

    kernel_link_close(self->link);
    monitoring_on_timer(self);
    assert_int_equal(seen_cell, -1);
    assert_false(RUNS(RESOURCES));
}

static void a_session_that_does_nothing_rests(void **state)
{
    session_t *self = *state;

    verdict.is_quiet = true;
    pace_ms = RESOURCE_MONITOR_REST_MS - 1;
    monitoring_on_timer(self);
    assert_true(was_quiet);
    assert_int_equal(rests, 0);
    pace_ms++;
    monitoring_on_timer(self);
    assert_int_equal(rests, 1);
    verdict.is_quiet = false;
    monitoring_on_timer(self);
    assert_int_equal(rests, 1);
}

/* A cell that sleeps is not idle. */
static void a_cell_that_sleeps_is_looked_at_soon(void **state)
{
    session_t *self = *state;

    fake_session_run(self);
    verdict.is_quiet = true;
    pace_ms = RESOURCE_MONITOR_REST_MS;
    monitoring_on_timer(self);
    assert_false(was_quiet);
    assert_int_equal(rests, 0);
}

static void a_limit_ends_the_kernel(void **state)
{
    session_t *self = *state;

    verdict =
        (resource_verdict_t){.reason = END_REASON_MEMORY, .text = "100% of it"};
    monitoring_on_timer(self);
    DID("audit limit memory by kernel; LIMIT memory; kill");
    assert_string_equal(self->cause.detail, "100% of it");
    assert_false(RUNS(RESOURCES));
}

static void processes_that_were_refused_are_reported(void **state)
{
    session_t *self = *state;

    self->spec->limits.processes = 64;
    verdict.refused = 3;
    monitoring_on_timer(self);
    DID("LIMIT processes; audit limit refused by kernel");
    HAS("{\"limit\":\"processes\",\"max\":64}", deeds_content("limit"));
    HAS("{\"limit\":\"processes\",\"max\":64,\"refused\":3,\"cell\":1}", noted);
    assert_true(RUNS(RESOURCES));
    /* A journal that is full changes nothing. */
    fake_outside.is_journal_lost = true;
    monitoring_on_timer(self);
    DID("LIMIT processes; audit limit refused by kernel");
}

static void a_journal_that_gives_way_is_reported_once(void **state)
{
    session_t *self = *state;

    self->spec->limits.journal_bytes = 1000;
    compactions = 1;
    monitoring_on_timer(self);
    monitoring_on_timer(self);
    DID("LIMIT journal_bytes; audit limit refused by kernel");
    HAS("{\"limit\":\"journal_bytes\",\"max\":1000}", deeds_content("limit"));
}

static void an_end_is_explained_by_its_limit(void **state)
{
    session_t *self = *state;

    assert_false(monitoring_explain(self));
    assert_int_equal(self->cause.reason, END_REASON_NONE);
    verdict = (resource_verdict_t){
        .reason = END_REASON_CPU, .text = "9 s", .refused = 1};
    compactions = 1;
    assert_true(monitoring_explain(self));
    assert_int_equal(self->cause.reason, END_REASON_CPU);
    assert_string_equal(self->cause.detail, "9 s");
    DID("LIMIT processes; audit limit refused by kernel; "
        "LIMIT journal_bytes; audit limit refused by kernel");
}

static void a_cell_makes_looks_come_soon(void **state)
{
    session_t *self = *state;

    monitoring_cell_begin(self);
    assert_false(RUNS(RESOURCES));
    was_slow = true;
    monitoring_cell_begin(self);
    assert_true(RUNS(RESOURCES));
    assert_int_equal(fake_outside.delay_ms, 250);
}

static void limits_that_the_kernel_reports_are_noted(void **state)
{
    static const char metadata[] =
        "{\"hearth\":{\"limits\":["
        "{\"limit\":\"processes\",\"max\":64,\"used\":65},"
        "{\"limit\":\"open_files\",\"max\":256,\"used\":257}]}}";
    session_t *self = *state;

    monitoring_apply(self, checked(metadata), 7);
    DID("LIMIT processes; audit limit refused by kernel; LIMIT open_files; "
        "audit limit refused by kernel");
    HAS("{\"limit\":\"open_files\",\"max\":256,\"used\":257,\"cell\":7,"
        "\"said_by\":\"kernel\"}",
        noted);
    /* A group counts processes better. */
    has_group = true;
    monitoring_apply(self, checked(metadata), 8);
    DID("LIMIT open_files; audit limit refused by kernel");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(looks_begin_and_end_with_a_kernel),
        TEST(a_group_that_is_left_goes_to_the_registry),
        TEST(a_look_is_followed_by_another),
        TEST(no_look_at_what_has_ended),
        TEST(a_session_without_a_kernel_is_not_looked_at),
        TEST(a_session_that_does_nothing_rests),
        TEST(a_cell_that_sleeps_is_looked_at_soon),
        TEST(a_limit_ends_the_kernel),
        TEST(processes_that_were_refused_are_reported),
        TEST(a_journal_that_gives_way_is_reported_once),
        TEST(an_end_is_explained_by_its_limit),
        TEST(a_cell_makes_looks_come_soon),
        TEST(limits_that_the_kernel_reports_are_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
