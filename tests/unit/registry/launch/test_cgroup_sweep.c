/* Which control groups are removed, and when the next look at them is due. The
 * hierarchy and the sessions are records. */
#include "gateway/registry/launch/cgroup_sweep.h"

#include "base/buffer.h"
#include "base/log.h"
#include "tests/lib/deeds.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define LOOP      ((zloop_t *) &loop_place)

static cgroup_mode_t mode;
static const char *next_id;      /* of what is made ahead; or NULL */
static bool is_next_there;       /* and not given to a session yet */
static size_t left;              /* groups that cannot be removed yet */
static zloop_timer_fn *on_timer; /* of the last timer ... */
static void *timer_arg;          /* ... and its argument */
static char prefix[40];          /* of the groups that were looked for */
static const char *busy;         /* the one that cannot be removed; or NULL */
static char loop_place, tree_place, prealloc_place;
static session_table_t *table;
static cgroup_sweep_t *sweep;

/* The groups that there are. */
static const char *const leaves[] = {"alive.1", "gone.1",  "next.7",
                                     "lost.2",  "alive.x", "aliv.1"};

/* The linker replaces the real functions by these (--wrap). */
cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self);
const char *__wrap_cgroups_where(const cgroups_t *self);
int __wrap_cgroups_new(const char *mount, const char *self, cgroup_mode_t wish,
                       const char *name, cgroups_t **ret_cgroups,
                       fault_t *fault);
size_t __wrap_cgroups_sweep(const cgroups_t *self, bool waits,
                            bool (*is_kept)(void *argument, const char *name),
                            void *argument, size_t *ret_left);
int __wrap_cgroup_open(const cgroups_t *tree, const char *name,
                       cgroup_t **ret_cgroup, fault_t *fault);
void __wrap_cgroup_destroy(cgroup_t **self_p);
const char *__wrap_prealloc_id(const prealloc_t *self);
bool __wrap_prealloc_is_there(const prealloc_t *self);
int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *loop, int id);

cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self)
{
    (void) self;
    return mode;
}

const char *__wrap_cgroups_where(const cgroups_t *self)
{
    (void) self;
    return "somewhere";
}

int __wrap_cgroups_new(const char *mount, const char *self, cgroup_mode_t wish,
                       const char *name, cgroups_t **ret_cgroups,
                       fault_t *fault)
{
    assert_string_equal(mount, "/sys/fs/cgroup");
    assert_string_equal(self, "/proc/self/cgroup");
    snprintf(prefix, sizeof prefix, "%s", name);
    if (wish == CGROUP_V1)
        return fault_set(fault, ENOENT, "there is no version 1");
    *ret_cgroups = (cgroups_t *) prefix;
    return 0;
}

size_t __wrap_cgroups_sweep(const cgroups_t *self, bool waits,
                            bool (*is_kept)(void *argument, const char *name),
                            void *argument, size_t *ret_left)
{
    size_t count = 0;

    assert_ptr_equal(self, &tree_place);
    deeds_note(waits ? "sweep and wait" : "sweep");
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (!is_kept(argument, leaves[i])) {
            deeds_note("remove %s", leaves[i]);
            count++;
        }
    *ret_left = left;
    return count;
}

int __wrap_cgroup_open(const cgroups_t *tree, const char *name,
                       cgroup_t **ret_cgroup, fault_t *fault)
{
    assert_ptr_equal(tree, &tree_place);
    if (!busy || strcmp(name, busy) != 0)
        return fault_set(fault, ENOENT, "no group");
    *ret_cgroup = (cgroup_t *) &tree_place;
    return 0;
}

void __wrap_cgroup_destroy(cgroup_t **self_p)
{
    *self_p = NULL;
}

const char *__wrap_prealloc_id(const prealloc_t *self)
{
    assert_ptr_equal(self, &prealloc_place);
    return next_id;
}

bool __wrap_prealloc_is_there(const prealloc_t *self)
{
    assert_ptr_equal(self, &prealloc_place);
    return is_next_there;
}

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    static int id;

    assert_ptr_equal(loop, &loop_place);
    assert_int_equal(times, 1);
    deeds_note("timer of %zu s", delay / 1000);
    on_timer = handler;
    timer_arg = arg;
    return ++id;
}

int __wrap_zloop_timer_end(zloop_t *loop, int id)
{
    assert_ptr_equal(loop, &loop_place);
    assert_true(id > 0);
    deeds_note("end timer");
    return 0;
}

__attribute__((format(printf, 1, 2))) void __wrap_log_notice(const char *format,
                                                             ...);

void __wrap_log_notice(const char *format, ...)
{
    char text[200];
    va_list args;

    va_start(args, format);
    (void) vsnprintf(text, sizeof text, format, args);
    va_end(args);
    deeds_note("log %s", text);
}

static int begin(void **state)
{
    fake_begin(state);
    mode = CGROUP_V2;
    next_id = NULL;
    is_next_there = false;
    left = 0;
    busy = NULL;
    table = session_table_new(NULL);
    sweep = cgroup_sweep_new(LOOP, (const cgroups_t *) &tree_place, table,
                             (const prealloc_t *) &prealloc_place);
    deeds_forget();
    return 0;
}

static int end(void **state)
{
    (void) state;
    cgroup_sweep_destroy(&sweep);
    assert_null(sweep);
    session_table_destroy(&table);
    return 0;
}

static void groups_of_sessions_that_live_are_kept(void **state)
{
    (void) state;
    fake_add(table, "alive", FAKE_FRESH, 0);
    fake_add(table, "gone", FAKE_GONE, 0);
    cgroup_sweep_run(sweep);
    DID("sweep and wait; remove gone.1; remove next.7; remove lost.2; "
        "remove aliv.1; log 4 control groups of kernels that have ended were "
        "removed");
}

static void the_group_that_was_made_ahead_is_kept(void **state)
{
    (void) state;
    fake_add(table, "alive", FAKE_FRESH, 0);
    next_id = "next";
    is_next_there = true;
    cgroup_sweep_run(sweep);
    DID("sweep and wait; remove gone.1; remove lost.2; remove aliv.1; "
        "log 3 control groups of kernels that have ended were removed");
    /* A session has it, or none: it is looked for among the sessions. */
    is_next_there = false;
    cgroup_sweep_run(sweep);
    DID("sweep and wait; remove gone.1; remove next.7; remove lost.2; "
        "remove aliv.1; log 4 control groups of kernels that have ended were "
        "removed");
}

static void groups_without_an_owner_end_with_the_gateway(void **state)
{
    (void) state;
    fake_add(table, "alive", FAKE_TAKEN, 0);
    fake_add(table, "lost", FAKE_POOLED, 0);
    cgroup_sweep_run(sweep);
    assert_null(strstr(deeds_take(), "remove lost.2"));
    session_table_close(table);
    cgroup_sweep_run(sweep);
    assert_non_null(strstr(deeds_take(), "remove lost.2"));
}

static void keep_all(void)
{
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
        cleanup_free char *id =
            mem_format("%.*s", (int) strcspn(leaves[i], "."), leaves[i]);

        if (!session_table_find_any(table, id))
            fake_add(table, id, FAKE_FRESH, 0);
    }
}

static void a_sweep_is_repeated_until_none_is_left(void **state)
{
    (void) state;
    keep_all();
    cgroup_sweep_run_soon(sweep);
    cgroup_sweep_run_soon(sweep); /* it is due already */
    DID("timer of 2 s");
    left = 1;
    assert_int_equal(on_timer(LOOP, 1, timer_arg), 0);
    DID("sweep; timer of 2 s");
    cgroup_sweep_run_soon(sweep);
    DID("");
    left = 0;
    assert_int_equal(on_timer(LOOP, 2, timer_arg), 0);
    DID("sweep; timer of 300 s");
    cgroup_sweep_run_soon(sweep);
    DID("end timer; timer of 2 s");
}

/* The session lives on, in another group. */
static void the_group_of_a_kernel_that_ended_is_removed(void **state)
{
    (void) state;
    keep_all();
    cgroup_sweep_take(sweep, "alive.1");
    cgroup_sweep_take(sweep, "alive.1");
    cgroup_sweep_take(sweep, "gone.1");
    DID("timer of 2 s");
    busy = "alive.1";
    left = 1;
    assert_int_equal(on_timer(LOOP, 1, timer_arg), 0);
    DID("sweep; remove alive.1; remove gone.1; log 2 control groups of kernels "
        "that have ended were removed; timer of 2 s");
    /* "gone.1" is forgotten: a new group may have the name by now. */
    busy = NULL;
    left = 0;
    assert_int_equal(on_timer(LOOP, 1, timer_arg), 0);
    DID("sweep; remove alive.1; log 1 control groups of kernels that have "
        "ended were removed; timer of 300 s");
    cgroup_sweep_run(sweep);
    DID("sweep and wait");
}

static void the_limits_are_named_by_what_holds_them(void **state)
{
    (void) state;
    assert_string_equal(cgroup_sweep_limits_by(NULL), "v2");
    mode = CGROUP_V1;
    assert_string_equal(cgroup_sweep_limits_by(NULL), "v1");
    mode = CGROUP_NONE;
    assert_string_equal(cgroup_sweep_limits_by(NULL), "watchdog");
}

/* The next gateway with this state finds the groups, and no other does. */
static void groups_are_named_after_the_state_folder(void **state)
{
    static char one[] = "/state/one", other[] = "/state/other";
    options_t options = {.state_dir = one, .cgroups = CGROUP_AUTO};
    cgroups_t *groups = NULL;
    char first[sizeof prefix];
    fault_t fault;

    (void) state;
    assert_int_equal(cgroup_sweep_find(&options, &groups, &fault), 0);
    assert_ptr_equal(groups, prefix);
    DID("log limits by=v2 somewhere");
    memcpy(first, prefix, sizeof first);
    /* echo -n /state/one | b2sum -l 128 */
    assert_string_equal(first, "hearth-ded285f84ef2.");
    options.state_dir = other;
    assert_int_equal(cgroup_sweep_find(&options, &groups, &fault), 0);
    assert_string_not_equal(prefix, first);
    options.cgroups = CGROUP_V1;
    (void) deeds_take();
    assert_int_equal(cgroup_sweep_find(&options, &groups, &fault), -ENOENT);
    assert_string_equal(fault.text, "there is no version 1");
    DID("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(groups_of_sessions_that_live_are_kept),
        TEST(the_group_that_was_made_ahead_is_kept),
        TEST(groups_without_an_owner_end_with_the_gateway),
        TEST(a_sweep_is_repeated_until_none_is_left),
        TEST(the_group_of_a_kernel_that_ended_is_removed),
        TEST(the_limits_are_named_by_what_holds_them),
        TEST(groups_are_named_after_the_state_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
