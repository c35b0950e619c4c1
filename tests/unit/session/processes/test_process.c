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
    one->input.is_over = true;
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

static void a_process_is_found_by_its_key(void **state)
{
    cleanup_processes processes_t *table = processes_new();
    process_t *one = add(table), *two;

    (void) state;
    assert_null(processes_find_key(table, "a"));
    add(table);
    two = add(table);
    one->key = mem_text("a");
    two->key = mem_text("b");
    assert_ptr_equal(processes_find_key(table, "a"), one);
    assert_ptr_equal(processes_find_key(table, "b"), two);
    assert_null(processes_find_key(table, "c"));
}

static bool is_read(const char *text)
{
    cleanup_processes processes_t *table = processes_new();
    jspan_t object;
    fault_t fault;

    assert_int_equal(jspan_check(text, strlen(text), &object, &fault), 0);
    return process_read(processes_add(table, 0), object);
}

static void other_objects_are_no_process(void **state)
{
    (void) state;
    assert_true(is_read("{\"argv\":[],\"cwd\":\".\",\"who\":\"uid=1\"}"));
    assert_false(is_read("{\"cwd\":\".\",\"who\":\"uid=1\"}"));
    assert_false(is_read("{\"argv\":[],\"who\":\"uid=1\"}"));
    assert_false(is_read("{\"argv\":[],\"cwd\":\".\"}"));
}

/* Writes a process that has ended so, and asserts which members say it. */
static void assert_members(process_fate_t fate, uint64_t cpu_ms, bool has_end,
                           bool has_cpu)
{
    cleanup_processes processes_t *table = processes_new();
    process_t *process = add(table);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_t object;
    fault_t fault;

    process->fate = fate;
    process->cpu_ms = cpu_ms;
    processes_end(table, process);
    process_write(process, NULL, &text);
    assert_int_equal(jspan_check(text.data, text.size, &object, &fault), 0);
    assert_int_equal(jspan_is(jspan_member(object, "end"), JSPAN_STRING),
                     has_end);
    assert_int_equal(jspan_is(jspan_member(object, "cpu_ms"), JSPAN_NUMBER),
                     has_cpu);
}

static void only_what_is_known_of_an_end_is_written(void **state)
{
    (void) state;
    assert_members(PROCESS_BY_KEEPER, 0, true, true);
    assert_members(PROCESS_BY_OUTPUT, 5, true, true);
    assert_members(PROCESS_BY_MEMORY, 0, true, false);
    assert_members(PROCESS_BY_MEMORY, 5, true, true);
    assert_members(PROCESS_BY_KERNEL, 0, false, false);
    assert_members(PROCESS_LOST, 0, false, false);
}

static void a_table_is_destroyed_once(void **state)
{
    processes_t *table = processes_new();

    (void) state;
    add(table);
    processes_destroy(&table);
    assert_null(table);
    processes_destroy(&table);
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
        cmocka_unit_test(a_process_is_found_by_its_key),
        cmocka_unit_test(other_objects_are_no_process),
        cmocka_unit_test(only_what_is_known_of_an_end_is_written),
        cmocka_unit_test(a_table_is_destroyed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
