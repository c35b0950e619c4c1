#include "base/units.h"
#include "gateway/session/processes/process.h"
#include "protocol/jspan.h"
#include "tests/lib/test.h"

#include <string.h>

static process_t *add(processes_t *table)
{
    process_t *process = processes_add(table, 0);

    process->arguments = mem_text("[\"ls\"]");
    process->folder = mem_text(".");
    process->who = mem_text("uid=1");
    process->started_us = 1000000;
    return process;
}

static void reads_what_it_writes(void **state)
{
    cleanup_processes processes_t *table = processes_new();
    process_t *one = add(table), *two;
    cleanup_buffer buffer_t text = BUFFER_EMPTY, again = BUFFER_EMPTY;
    jspan_t object;
    fault_t fault;

    (void) state;
    one->is_terminal = true;
    one->limit_ms = 2500;
    one->pid = 77;
    one->bytes[0] = 5;
    one->bytes[1] = 6;
    one->ended_us = 2000000;
    one->end = KEEPER_SIGNALLED;
    one->code = 9;
    one->cause = KEEPER_BY_LIMIT;
    one->cpu_ms = 12;
    processes_end(table, one);
    process_write(one, NULL, &text);
    assert_int_equal(jspan_check(text.data, text.size, &object, &fault), 0);
    assert_int_equal(process_read_number(object), 1);
    two = processes_add(table, 1);
    assert_true(process_read(two, object));
    processes_end(table, two);
    process_write(two, NULL, &again);
    assert_string_equal((char *) again.data, (char *) text.data);
    assert_non_null(strstr((char *) text.data,
                           "signal 9 ended it, because its time limit of 2.5 "
                           "s was over"));
}

static void reads_an_end_by_memory(void **state)
{
    cleanup_processes processes_t *table = processes_new();
    process_t *one = add(table), *two;
    cleanup_buffer buffer_t text = BUFFER_EMPTY, again = BUFFER_EMPTY;
    jspan_t object;
    fault_t fault;

    (void) state;
    one->fate = PROCESS_BY_MEMORY;
    one->end = KEEPER_SIGNALLED;
    one->code = 9;
    one->memory_limit = 512 * MIB;
    processes_end(table, one);
    process_write(one, NULL, &text);
    assert_non_null(strstr((char *) text.data,
                           "\"end\":\"signalled\",\"signal\":9,"
                           "\"memory_limit\":536870912,"
                           "\"cause\":\"memory\""));
    assert_int_equal(jspan_check(text.data, text.size, &object, &fault), 0);
    two = processes_add(table, 1);
    assert_true(process_read(two, object));
    processes_end(table, two);
    process_write(two, NULL, &again);
    assert_string_equal((char *) again.data, (char *) text.data);
}

static void two_in_a_list_are_json(void **state)
{
    cleanup_processes processes_t *table = processes_new();
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_t list;
    fault_t fault;

    (void) state;
    buffer_text(&text, "[");
    process_write(add(table), NULL, &text);
    process_write(add(table), NULL, &text);
    buffer_text(&text, "]");
    assert_int_equal(jspan_check(text.data, text.size, &list, &fault), 0);
}

static void numbers_are_never_given_twice(void **state)
{
    cleanup_processes processes_t *table = processes_new();

    (void) state;
    assert_int_equal(add(table)->number, 1);
    processes_remove(table, processes_find(table, 1));
    assert_int_equal(add(table)->number, 2);
    processes_add(table, 9);
    assert_int_equal(add(table)->number, 10);
    assert_null(processes_find(table, 1));
    assert_int_equal(table->living, 3);
}

static void the_oldest_that_has_ended_is_forgotten(void **state)
{
    cleanup_processes processes_t *table = processes_new();

    (void) state;
    add(table);
    for (int i = 0; i <= PROCESSES_ENDED; i++)
        processes_end(table, add(table));
    add(table);
    assert_non_null(processes_find(table, 1));
    assert_null(processes_find(table, 2));
    assert_non_null(processes_find(table, 3));
    assert_int_equal(table->ended, PROCESSES_ENDED);
    assert_int_equal(table->living, 2);
}

/* The end of the kernel is that of all processes, in one loop. */
static void an_end_forgets_no_other_process(void **state)
{
    cleanup_processes processes_t *table = processes_new();
    process_t *living;

    (void) state;
    living = add(table);
    for (int i = 0; i < PROCESSES_ENDED; i++)
        processes_end(table, add(table));
    processes_end(table, living);
    assert_ptr_equal(living->next, processes_find(table, 2));
    assert_non_null(living->next);
    assert_int_equal(table->ended, PROCESSES_ENDED + 1);
}

static void says_how_it_ended(void **state)
{
    static const struct {
        process_t process;
        const char *sentence;
    } rows[] = {
        {{.code = 3}, "it exited with 3"},
        {{.end = KEEPER_NO_PROGRAM, .code = 2},
         "it was not started: the program: No such file or directory"},
        {{.fate = PROCESS_BY_KERNEL}, "it ended with the session's kernel"},
        {{.end = KEEPER_SIGNALLED, .code = 9}, "signal 9 ended it"},
        {{.fate = PROCESS_BY_MEMORY,
          .end = KEEPER_SIGNALLED,
          .code = 9,
          .memory_limit = 512 * MIB},
         "it was ended by the session's memory limit of 512 MiB; a session "
         "with a higher one (limits/memory) would help, or less data at a "
         "time"},
        {{.fate = PROCESS_BY_MEMORY, .code = 137, .memory_limit = 2 * GIB},
         "it exited with 137, because a process was ended by the session's "
         "memory limit of 2 GiB; a session with a higher one (limits/memory) "
         "would help, or less data at a time"},
        {{.fate = PROCESS_BY_OUTPUT, .end = KEEPER_SIGNALLED, .code = 9},
         "signal 9 ended it, because its output was past the limit of a cell "
         "(limits/cell_output)"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;

        process_write_end(&rows[i].process, &text);
        assert_string_equal((char *) text.data, rows[i].sentence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_an_end_by_memory),
        cmocka_unit_test(two_in_a_list_are_json),
        cmocka_unit_test(numbers_are_never_given_twice),
        cmocka_unit_test(the_oldest_that_has_ended_is_forgotten),
        cmocka_unit_test(an_end_forgets_no_other_process),
        cmocka_unit_test(says_how_it_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
