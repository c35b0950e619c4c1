#include "base/buffer.h"
#include "gateway/session/limits/resource_monitor.h"
#include "kernels/proc_tree.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)

static session_spec_t spec = {
    .limits = {.memory = 512 * MIB, .cpu_seconds = 60, .processes = 10}};

static int begin(void **state)
{
    spec.limits.memory = 512 * MIB;
    spec.limits.cpu_seconds = 60;
    *state = resource_monitor_new(&spec);
    return 0;
}

static int end(void **state)
{
    resource_monitor_t *self = *state;

    resource_monitor_destroy(&self);
    assert_null(self);
    return 0;
}

static resource_verdict_t judge(void **state, cgroup_usage_t usage,
                                int64_t cell)
{
    resource_verdict_t verdict;

    resource_monitor_judge(*state, &usage, cell, &verdict);
    return verdict;
}

static void memory_may_be_used_up(void **state)
{
    resource_verdict_t verdict =
        judge(state, (cgroup_usage_t){.memory = 512 * MIB}, 0);

    assert_int_equal(verdict.reason, END_REASON_NONE);
    verdict = judge(state, (cgroup_usage_t){.memory = 513 * MIB}, 7);
    assert_int_equal(verdict.reason, END_REASON_MEMORY);
    assert_string_equal(verdict.text, "512 MiB reached while running cell 7 "
                                      "(513 MiB in use)");
    spec.limits.memory = 2048 * MIB;
    verdict = judge(state, (cgroup_usage_t){.memory = 2049 * MIB}, 0);
    assert_string_equal(verdict.text,
                        "2 GiB reached between cells (2049 MiB in use)");
}

static void no_limit_is_never_reached(void **state)
{
    resource_verdict_t verdict;

    spec.limits.memory = 0;
    spec.limits.cpu_seconds = 0;
    verdict = judge(
        state, (cgroup_usage_t){.memory = UINT64_MAX, .cpu_us = 1000000000000},
        0);
    assert_int_equal(verdict.reason, END_REASON_NONE);
}

static void a_kill_of_the_group_is_news_once(void **state)
{
    resource_verdict_t verdict =
        judge(state, (cgroup_usage_t){.memory_kills = 1}, 3);

    assert_int_equal(verdict.reason, END_REASON_MEMORY);
    assert_string_equal(verdict.text, "512 MiB reached while running cell 3");
    verdict = judge(state, (cgroup_usage_t){.memory_kills = 1}, 3);
    assert_int_equal(verdict.reason, END_REASON_NONE);
    verdict = judge(state, (cgroup_usage_t){.memory_kills = 2}, 3);
    assert_int_equal(verdict.reason, END_REASON_MEMORY);
}

static void processor_time_is_bounded(void **state)
{
    resource_verdict_t verdict =
        judge(state, (cgroup_usage_t){.cpu_us = 59999999}, 0);

    assert_int_equal(verdict.reason, END_REASON_NONE);
    verdict = judge(state, (cgroup_usage_t){.cpu_us = 60000000}, 0);
    assert_int_equal(verdict.reason, END_REASON_CPU);
    assert_string_equal(verdict.text,
                        "60 s of processor time reached between cells");
}

static void refused_processes_are_counted_once(void **state)
{
    assert_int_equal(
        judge(state, (cgroup_usage_t){.fork_refusals = 3}, 0).refused, 3);
    assert_int_equal(
        judge(state, (cgroup_usage_t){.fork_refusals = 3}, 0).refused, 0);
    assert_int_equal(
        judge(state, (cgroup_usage_t){.fork_refusals = 5}, 0).refused, 2);
}

static void a_session_that_uses_no_processor_is_quiet(void **state)
{
    assert_true(judge(state, (cgroup_usage_t){.cpu_us = 1999}, 0).is_quiet);
    assert_false(judge(state, (cgroup_usage_t){.cpu_us = 3999}, 0).is_quiet);
    assert_true(judge(state, (cgroup_usage_t){.cpu_us = 3999}, 0).is_quiet);
}

static void an_end_by_a_limit_is_explained(void **state)
{
    const kernel_end_t by_time = {
        .is_known = true, .by_signal = true, .code = SIGXCPU};
    const kernel_end_t by_itself = {.is_known = true, .code = SIGXCPU};
    resource_verdict_t verdict;

    resource_monitor_explain(*state, &by_time, 4, &verdict);
    assert_int_equal(verdict.reason, END_REASON_CPU);
    assert_string_equal(verdict.text,
                        "60 s of processor time reached while running cell 4");
    resource_monitor_explain(*state, &by_itself, 4, &verdict);
    assert_int_equal(verdict.reason, END_REASON_NONE);
}

static void measurements_are_rarer_while_nothing_happens(void **state)
{
    int64_t base = resource_monitor_base_ms(*state);
    int64_t next = 0;

    resource_monitor_begin(*state, "");
    assert_false(resource_monitor_hurry(*state));
    assert_int_equal(resource_monitor_pace(*state, 0, true), 2 * base);
    assert_int_equal(resource_monitor_pace(*state, 0, true), 4 * base);
    for (int i = 0; i < 20; i++)
        next = resource_monitor_pace(*state, 0, true);
    assert_int_equal(next, 8000);
    assert_true(resource_monitor_hurry(*state));
    assert_int_equal(resource_monitor_pace(*state, 0, true), 2 * base);
    assert_int_equal(resource_monitor_pace(*state, 0, false), base);
}

static void a_compacted_journal_is_reported_once(void **state)
{
    assert_false(resource_monitor_note_journal(*state, 0));
    assert_true(resource_monitor_note_journal(*state, 2));
    assert_false(resource_monitor_note_journal(*state, 2));
    assert_true(resource_monitor_note_journal(*state, 3));
}

static void without_a_group_a_cell_costs_nothing(void **state)
{
    cleanup_buffer buffer_t members = BUFFER_EMPTY;

    resource_monitor_cell_begin(*state, 100);
    resource_monitor_cell_end(*state, 200, &members);
    assert_int_equal(members.size, 0);
    assert_false(resource_monitor_cost(*state).is_known);
    assert_null(resource_monitor_group(*state));
}

/* --- With a control group --- */

static struct {
    bool is_there;
    cgroup_mode_t mode;
    cgroup_usage_t usage;
    uint64_t cpu_us; /* as the one file says */
    bool has_peak;
    bool cannot_limit, cannot_remove;
    int reads, kills, removals, limits, rests, destroyed;
} fake_group;
static proc_tree_t tree;
static int tree_reads, exact_reads;

int __wrap_cgroup_open(const cgroups_t *groups, const char *name,
                       cgroup_t **ret_cgroup, fault_t *fault);
void __wrap_cgroup_destroy(cgroup_t **self_p);
int __wrap_cgroup_limit(const cgroup_t *self, const cgroup_limits_t *limits,
                        fault_t *fault);
void __wrap_cgroup_usage(cgroup_t *self, cgroup_usage_t *ret_usage);
uint64_t __wrap_cgroup_cpu_us(const cgroup_t *self);
void __wrap_cgroup_cost(cgroup_t *self, uint64_t *ret_cpu_us,
                        uint64_t *ret_memory_peak);
void __wrap_cgroup_rest(cgroup_t *self);
bool __wrap_cgroup_reset_peak(cgroup_t *self);
void __wrap_cgroup_kill(const cgroup_t *self);
int __wrap_cgroup_remove(const cgroup_t *self, fault_t *fault);
cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self);
void __wrap_proc_tree_read(pid_t first, bool exact, proc_tree_t *ret_processes);

cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self)
{
    (void) self;
    return fake_group.mode;
}

int __wrap_cgroup_open(const cgroups_t *groups, const char *name,
                       cgroup_t **ret_cgroup, fault_t *fault)
{
    (void) groups;
    (void) name;
    if (!fake_group.is_there)
        return fault_set(fault, ENOENT, "no group");
    *ret_cgroup = (cgroup_t *) &fake_group;
    return 0;
}

void __wrap_cgroup_destroy(cgroup_t **self_p)
{
    if (*self_p)
        fake_group.destroyed++;
    *self_p = NULL;
}

int __wrap_cgroup_limit(const cgroup_t *self, const cgroup_limits_t *limits,
                        fault_t *fault)
{
    assert_ptr_equal(self, &fake_group);
    assert_int_equal(limits->memory, spec.limits.memory);
    fake_group.limits++;
    return fake_group.cannot_limit ? fault_set(fault, EPERM, "no") : 0;
}

void __wrap_cgroup_usage(cgroup_t *self, cgroup_usage_t *ret_usage)
{
    assert_ptr_equal(self, &fake_group);
    fake_group.reads++;
    *ret_usage = fake_group.usage;
}

uint64_t __wrap_cgroup_cpu_us(const cgroup_t *self)
{
    assert_ptr_equal(self, &fake_group);
    return fake_group.cpu_us;
}

void __wrap_cgroup_cost(cgroup_t *self, uint64_t *ret_cpu_us,
                        uint64_t *ret_memory_peak)
{
    assert_ptr_equal(self, &fake_group);
    *ret_cpu_us = fake_group.cpu_us;
    if (ret_memory_peak)
        *ret_memory_peak = 3 * MIB;
}

void __wrap_cgroup_rest(cgroup_t *self)
{
    assert_ptr_equal(self, &fake_group);
    fake_group.rests++;
}

bool __wrap_cgroup_reset_peak(cgroup_t *self)
{
    assert_ptr_equal(self, &fake_group);
    return fake_group.has_peak;
}

void __wrap_cgroup_kill(const cgroup_t *self)
{
    assert_ptr_equal(self, &fake_group);
    fake_group.kills++;
}

int __wrap_cgroup_remove(const cgroup_t *self, fault_t *fault)
{
    assert_ptr_equal(self, &fake_group);
    fake_group.removals++;
    return fake_group.cannot_remove ? fault_set(fault, EBUSY, "busy") : 0;
}

void __wrap_proc_tree_read(pid_t first, bool exact, proc_tree_t *ret_processes)
{
    assert_int_equal(first, 4711);
    tree_reads++;
    exact_reads += exact;
    *ret_processes = tree;
    if (exact)
        ret_processes->memory /= 2; /* shared pages, once */
}

static int begin_group(void **state)
{
    if (begin(state) < 0)
        return -1;
    memset(&fake_group, 0, sizeof fake_group);
    fake_group.is_there = true;
    tree = (proc_tree_t){0};
    tree_reads = exact_reads = 0;
    resource_monitor_begin(*state, "g");
    return 0;
}

static int end_group(void **state)
{
    fake_group.cannot_remove = false;
    assert_null(resource_monitor_end(*state));
    return end(state);
}

static void a_group_is_watched_until_the_end(void **state)
{
    cleanup_free char *left = NULL;

    assert_ptr_equal(resource_monitor_group(*state), &fake_group);
    assert_string_equal(spec.group.name, "g");
    assert_int_equal(resource_monitor_base_ms(*state), 1000);
    resource_monitor_rest(*state);
    assert_int_equal(fake_group.rests, 1);
    fake_group.cannot_remove = true; /* logged */
    left = resource_monitor_end(*state);
    assert_string_equal(left, "g");
    assert_int_equal(fake_group.kills, 1);
    assert_int_equal(fake_group.removals, 1);
    assert_int_equal(fake_group.destroyed, 1);
    assert_null(resource_monitor_group(*state));
    assert_null(spec.group.name);
    assert_null(resource_monitor_end(*state));
    assert_int_equal(fake_group.kills, 1);
}

static void a_missing_group_is_no_error(void **state)
{
    fake_group.is_there = false;
    resource_monitor_begin(*state, "h");
    assert_null(resource_monitor_group(*state));
    assert_string_equal(spec.group.name, "h");
    resource_monitor_adopt(*state);
    assert_int_equal(fake_group.limits, 0);
}

static void the_limits_of_an_adopted_group_are_set_again(void **state)
{
    resource_monitor_adopt(*state);
    assert_string_equal(spec.group.name, "g");
    assert_int_equal(fake_group.limits, 1);
    fake_group.cannot_limit = true; /* logged */
    resource_monitor_adopt(*state);
    assert_ptr_equal(resource_monitor_group(*state), &fake_group);
}

static void earlier_events_are_not_reported_again(void **state)
{
    fake_group.usage = (cgroup_usage_t){.memory_kills = 2, .fork_refusals = 3};
    resource_monitor_begin(*state, "g");
    assert_int_equal(judge(state, fake_group.usage, 0).refused, 0);
    assert_int_equal(judge(state, fake_group.usage, 0).reason, END_REASON_NONE);
}

/* The group keeps its limit by itself. */
static void a_group_bounds_memory_itself(void **state)
{
    assert_int_equal(
        judge(state, (cgroup_usage_t){.memory = 999 * MIB}, 0).reason,
        END_REASON_NONE);
}

static void a_kill_explains_the_end(void **state)
{
    const kernel_end_t unknown = {0};
    const kernel_end_t killed = {
        .is_known = true, .by_signal = true, .code = SIGKILL};
    const kernel_end_t crashed = {
        .is_known = true, .by_signal = true, .code = SIGSEGV};
    const kernel_end_t code = {.is_known = true, .code = SIGKILL};
    resource_verdict_t verdict;

    fake_group.usage.memory_kills = 1;
    resource_monitor_explain(*state, &crashed, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_NONE);
    resource_monitor_explain(*state, &code, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_NONE);
    resource_monitor_explain(*state, &killed, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_MEMORY);
    resource_monitor_explain(*state, &unknown, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_MEMORY);
    fake_group.usage.memory_kills = 0; /* not for its memory */
    resource_monitor_explain(*state, &killed, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_NONE);
}

static void each_kill_is_taken_once(void **state)
{
    fake_group.usage.memory_kills = 2;
    resource_monitor_begin(*state, "g");
    assert_false(resource_monitor_take_kill(*state));
    fake_group.usage.memory_kills = 4;
    /* The session's verdict is another matter. */
    assert_int_equal(judge(state, fake_group.usage, 0).reason,
                     END_REASON_MEMORY);
    assert_true(resource_monitor_take_kill(*state));
    assert_true(resource_monitor_take_kill(*state));
    assert_false(resource_monitor_take_kill(*state));
}

/* The machine had no memory left, and has ended a process of the session. */
static void a_kill_without_a_limit_is_not_the_limits(void **state)
{
    kernel_end_t killed = {
        .is_known = true, .by_signal = true, .code = SIGKILL};
    resource_verdict_t verdict;

    spec.limits.memory = 0;
    resource_monitor_begin(*state, "g");
    fake_group.usage.memory_kills = 1;
    assert_false(resource_monitor_take_kill(*state));
    assert_int_equal(judge(state, fake_group.usage, 0).reason, END_REASON_NONE);
    resource_monitor_explain(*state, &killed, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_NONE);
}

static void without_a_group_no_kill_is_known(void **state)
{
    assert_false(resource_monitor_take_kill(*state));
    assert_false(resource_monitor_kills_all(*state));
}

static void only_version_2_kills_all(void **state)
{
    fake_group.mode = CGROUP_V1;
    assert_false(resource_monitor_kills_all(*state));
    fake_group.mode = CGROUP_V2;
    assert_true(resource_monitor_kills_all(*state));
}

static void a_group_that_slept_is_not_read(void **state)
{
    resource_verdict_t verdict;
    int reads = fake_group.reads;

    fake_group.usage.cpu_us = fake_group.cpu_us = 5000;
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_int_equal(fake_group.reads, reads + 1);
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_true(verdict.is_quiet);
    assert_int_equal(fake_group.reads, reads + 1);
    fake_group.usage.cpu_us = fake_group.cpu_us = 9000;
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_false(verdict.is_quiet);
    assert_int_equal(fake_group.reads, reads + 2);
    assert_int_equal(tree_reads, 0);
}

/* A group that has used no processor time yet may not have begun. */
static void a_group_that_has_not_run_is_read(void **state)
{
    resource_verdict_t verdict;
    int reads = fake_group.reads;

    resource_monitor_look(*state, 4711, 0, &verdict);
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_int_equal(fake_group.reads, reads + 2);
}

static void without_a_group_processes_are_read(void **state)
{
    resource_verdict_t verdict;

    assert_null(resource_monitor_end(*state));
    tree = (proc_tree_t){.memory = 512 * MIB, .cpu_us = 5000};
    resource_monitor_look(*state, 0, 0, &verdict); /* none is known */
    assert_int_equal(tree_reads, 0);
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_int_equal(tree_reads, 1);
    assert_int_equal(exact_reads, 0);
    assert_int_equal(verdict.reason, END_REASON_NONE);
    tree.memory = 600 * MIB; /* seems to be too much, and is not */
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_int_equal(exact_reads, 1);
    assert_int_equal(verdict.reason, END_REASON_NONE);
    tree.memory = 2000 * MIB;
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_int_equal(verdict.reason, END_REASON_MEMORY);
    spec.limits.memory = 0;
    resource_monitor_look(*state, 4711, 0, &verdict);
    assert_int_equal(exact_reads, 2);
}

static void a_quiet_group_is_measured_rarely(void **state)
{
    int64_t next = 0;

    for (int i = 0; i < 20; i++)
        next = resource_monitor_pace(*state, 0, true);
    assert_int_equal(next, 8000); /* processor time is looked for */
    spec.limits.cpu_seconds = 0;
    for (int i = 0; i < 20; i++)
        next = resource_monitor_pace(*state, 0, true);
    assert_int_equal(next, 64000);
    assert_null(resource_monitor_end(*state));
    for (int i = 0; i < 20; i++)
        next = resource_monitor_pace(*state, 0, true);
    assert_int_equal(next, 8000);
}

static void is_cost(void **state, const char *expected)
{
    cleanup_buffer buffer_t members = BUFFER_EMPTY;

    resource_monitor_cell_end(*state, 350, &members);
    assert_int_equal(members.size, strlen(expected));
    assert_memory_equal(members.data, expected, members.size);
}

static void a_cell_has_a_cost(void **state)
{
    cell_cost_t cost;

    is_cost(state, ""); /* no cell has begun */
    fake_group.cpu_us = 1000;
    resource_monitor_cell_begin(*state, 100);
    fake_group.cpu_us = 8000;
    is_cost(state, "\"duration_ms\":250,\"cpu_ms\":7");
    cost = resource_monitor_cost(*state);
    assert_true(cost.is_known);
    assert_false(cost.has_own_peak);
    assert_int_equal(cost.cpu_us, 7000);
    /* The reply comes once more: the journal did not take it. */
    fake_group.cpu_us = 9000;
    is_cost(state, "\"duration_ms\":250,\"cpu_ms\":7");
    fake_group.has_peak = true;
    resource_monitor_cell_begin(*state, 100);
    is_cost(state, "\"duration_ms\":250,\"cpu_ms\":0,"
                   "\"peak_memory_kib\":3072");
    assert_true(resource_monitor_cost(*state).has_own_peak);
}

/* Each kernel has a group, whose count begins at nothing; that of a gateway
 * before is not known to the next one. */
static void a_cell_that_began_in_another_group_has_no_cost(void **state)
{
    fake_group.cpu_us = 8000;
    resource_monitor_cell_begin(*state, 100);
    is_cost(state, "\"duration_ms\":250,\"cpu_ms\":0");
    resource_monitor_cell_begin(*state, 100);
    fake_group.cpu_us = 1000;
    resource_monitor_begin(*state, "h");
    assert_false(resource_monitor_cost(*state).is_known);
    is_cost(state, "");
    assert_false(resource_monitor_cost(*state).is_known);
}

#define GROUP(name)                                                            \
    cmocka_unit_test_setup_teardown(name, begin_group, end_group)
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(memory_may_be_used_up),
        TEST(no_limit_is_never_reached),
        TEST(a_kill_of_the_group_is_news_once),
        TEST(processor_time_is_bounded),
        TEST(refused_processes_are_counted_once),
        TEST(a_session_that_uses_no_processor_is_quiet),
        TEST(an_end_by_a_limit_is_explained),
        TEST(measurements_are_rarer_while_nothing_happens),
        TEST(a_compacted_journal_is_reported_once),
        TEST(without_a_group_a_cell_costs_nothing),
        TEST(without_a_group_no_kill_is_known),
        GROUP(a_group_is_watched_until_the_end),
        GROUP(a_missing_group_is_no_error),
        GROUP(the_limits_of_an_adopted_group_are_set_again),
        GROUP(earlier_events_are_not_reported_again),
        GROUP(a_group_bounds_memory_itself),
        GROUP(a_kill_explains_the_end),
        GROUP(each_kill_is_taken_once),
        GROUP(a_kill_without_a_limit_is_not_the_limits),
        GROUP(only_version_2_kills_all),
        GROUP(a_group_that_slept_is_not_read),
        GROUP(a_group_that_has_not_run_is_read),
        GROUP(without_a_group_processes_are_read),
        GROUP(a_quiet_group_is_measured_rarely),
        GROUP(a_cell_has_a_cost),
        GROUP(a_cell_that_began_in_another_group_has_no_cost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
