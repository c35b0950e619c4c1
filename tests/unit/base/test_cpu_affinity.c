/* Processors that are kept off, and how the others come back. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/cpu_affinity.h"

#include "tests/lib/test.h"

#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#define STACK_BYTES (256 * 1024)

/* Two that this process may use; -1: there are no two. */
static void find_two(int *ret_first, int *ret_second)
{
    cpu_affinity_t all = cpu_affinity_save();

    *ret_first = *ret_second = -1;
    assert_true(all.is_known);
    for (int i = 0; i < CPU_SETSIZE && *ret_second < 0; i++) {
        if (!CPU_ISSET((size_t) i, &all.set))
            continue;
        *(*ret_first < 0 ? ret_first : ret_second) = i;
    }
}

static void stay_on(int processor)
{
    cpu_set_t one;

    CPU_ZERO(&one);
    CPU_SET((size_t) processor, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static void avoids_a_processor_until_released(void **state)
{
    cpu_affinity_t all = cpu_affinity_save(), now;
    int first, second;

    (void) state;
    find_two(&first, &second);
    if (second < 0)
        skip();
    cpu_affinity_keep_off(first, 0);
    assert_int_not_equal(cpu_affinity_find(), first);
    now = cpu_affinity_save();
    assert_int_equal(CPU_COUNT(&now.set), CPU_COUNT(&all.set) - 1);
    assert_false(CPU_ISSET((size_t) first, &now.set));
    cpu_affinity_keep_off(-1, 0);
    cpu_affinity_restore(&all);
    now = cpu_affinity_save();
    assert_true(CPU_EQUAL(&now.set, &all.set));
}

static void keeps_the_only_processor(void **state)
{
    cpu_affinity_t all = cpu_affinity_save(), now;
    int first, second;

    (void) state;
    find_two(&first, &second);
    stay_on(first);
    assert_int_equal(cpu_affinity_find(), first);
    cpu_affinity_keep_off(first, 0);
    now = cpu_affinity_save();
    assert_true(CPU_ISSET((size_t) first, &now.set));
    cpu_affinity_restore(&all);
}

static int look(void *arg)
{
    int *numbers = arg;

    stay_on(numbers[0]);
    numbers[1] = cpu_affinity_find();
    return 0;
}

#if defined __SANITIZE_THREAD__
#define KNOWS_NO_CLONES
#elif defined __has_feature
#if __has_feature(thread_sanitizer)
#define KNOWS_NO_CLONES
#endif
#endif

/* The system writes into the caller's memory, not into the clone's. */
static void finds_that_of_a_clone_in_the_same_memory(void **state)
{
    cpu_affinity_t all = cpu_affinity_save();
    int first, second;
    int numbers[2];
    char *stack;
    pid_t pid;

    (void) state;
    find_two(&first, &second);
#if defined KNOWS_NO_CLONES
    second = -1; /* ThreadSanitizer, which ends the process */
#endif
    if (second < 0)
        skip();
    stack = malloc(STACK_BYTES);
    assert_non_null(stack);
    stay_on(first);
    numbers[0] = second;
    numbers[1] = -1;
    pid = clone(look, stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD,
                numbers);
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(numbers[1], second);
    cpu_affinity_restore(&all);
    free(stack);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(avoids_a_processor_until_released),
        cmocka_unit_test(keeps_the_only_processor),
        cmocka_unit_test(finds_that_of_a_clone_in_the_same_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
