/* Output of a process on its way to two pipes. */
#include "gateway/cli/client/run_output.h"

#include "tests/lib/test.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    run_output_t *output;
    FILE *files[RUN_OUTPUTS];
    int readers[RUN_OUTPUTS]; /* -1: closed */
} rig_t;

static int begin(void **state)
{
    rig_t *rig = mem_new(sizeof *rig);

    signal(SIGPIPE, SIG_IGN);
    for (int i = 0; i < RUN_OUTPUTS; i++) {
        int ends[2];

        assert_int_equal(pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
        rig->readers[i] = ends[0];
        rig->files[i] = fdopen(ends[1], "w");
        assert_non_null(rig->files[i]);
    }
    rig->output = run_output_new(rig->files[0], rig->files[1]);
    *state = rig;
    return 0;
}

static int end(void **state)
{
    rig_t *rig = *state;

    run_output_destroy(&rig->output);
    assert_null(rig->output);
    run_output_destroy(&rig->output);
    for (int i = 0; i < RUN_OUTPUTS; i++) {
        fclose(rig->files[i]);
        if (rig->readers[i] >= 0)
            close(rig->readers[i]);
    }
    free(rig);
    return 0;
}

static uint64_t add(rig_t *rig, uint64_t offset, run_output_stream_t stream,
                    const char *text)
{
    return run_output_add(rig->output, offset, stream, text_bytes(text));
}

static void write_out(rig_t *rig, run_output_stream_t stream)
{
    run_output_write(rig->output, stream, NULL);
}

/* Asserts what the reader of a stream has got; "" if nothing. */
static void assert_got(const rig_t *rig, run_output_stream_t stream,
                       const char *text)
{
    char bytes[100] = "";
    ssize_t size = read(rig->readers[stream], bytes, sizeof bytes - 1);

    assert_int_equal(size, *text ? (ssize_t) strlen(text) : -1);
    assert_string_equal(bytes, text);
}

static void writes_each_stream_to_its_file(void **state)
{
    rig_t *rig = *state;

    assert_false(run_output_is_waiting(rig->output));
    assert_int_equal(add(rig, 0, RUN_OUTPUT_OUT, "out"), 0);
    assert_int_equal(run_output_fd(rig->output, RUN_OUTPUT_OUT),
                     fileno(rig->files[0]));
    assert_int_equal(run_output_fd(rig->output, RUN_OUTPUT_ERR), -1);
    assert_int_equal(add(rig, 3, RUN_OUTPUT_ERR, "error"), 0);
    assert_int_equal(run_output_fd(rig->output, RUN_OUTPUT_ERR),
                     fileno(rig->files[1]));
    assert_int_equal(run_output_next(rig->output), 8);
    assert_int_equal(run_output_written(rig->output), 0);
    write_out(rig, RUN_OUTPUT_ERR);
    assert_got(rig, RUN_OUTPUT_OUT, "");
    assert_got(rig, RUN_OUTPUT_ERR, "error");
    assert_int_equal(run_output_written(rig->output), 5);
    assert_true(run_output_is_waiting(rig->output));
    write_out(rig, RUN_OUTPUT_OUT);
    assert_got(rig, RUN_OUTPUT_OUT, "out");
    assert_int_equal(run_output_written(rig->output), 8);
    assert_false(run_output_is_waiting(rig->output));
    assert_int_equal(run_output_fd(rig->output, RUN_OUTPUT_OUT), -1);
}

static void takes_no_byte_twice(void **state)
{
    rig_t *rig = *state;

    add(rig, 0, RUN_OUTPUT_OUT, "abc");
    assert_int_equal(add(rig, 0, RUN_OUTPUT_OUT, "abc"), 0);
    assert_int_equal(add(rig, 1, RUN_OUTPUT_OUT, "b"), 0);
    assert_int_equal(run_output_next(rig->output), 3);
    assert_int_equal(add(rig, 1, RUN_OUTPUT_OUT, "bcd"), 0);
    assert_int_equal(run_output_next(rig->output), 4);
    write_out(rig, RUN_OUTPUT_OUT);
    assert_got(rig, RUN_OUTPUT_OUT, "abcd");
}

static void counts_bytes_that_never_came(void **state)
{
    rig_t *rig = *state;

    /* A client that comes later begins in the middle. */
    assert_int_equal(add(rig, 100, RUN_OUTPUT_OUT, "a"), 0);
    assert_int_equal(add(rig, 101, RUN_OUTPUT_OUT, "b"), 0);
    assert_int_equal(add(rig, 107, RUN_OUTPUT_OUT, "c"), 5);
    assert_int_equal(add(rig, 109, RUN_OUTPUT_OUT, "d"), 1);
    assert_int_equal(run_output_next(rig->output), 110);
    write_out(rig, RUN_OUTPUT_OUT);
    assert_got(rig, RUN_OUTPUT_OUT, "abcd");
}

static void holds_what_a_full_pipe_does_not_take(void **state)
{
    static char block[4096];
    rig_t *rig = *state;
    int writer = fileno(rig->files[0]);

    memset(block, '.', sizeof block);
    while (write(writer, block, sizeof block) > 0)
        ;
    add(rig, 0, RUN_OUTPUT_OUT, "kept");
    write_out(rig, RUN_OUTPUT_OUT);
    assert_int_equal(run_output_written(rig->output), 0);
    while (read(rig->readers[0], block, sizeof block) > 0)
        ;
    write_out(rig, RUN_OUTPUT_OUT);
    assert_int_equal(run_output_written(rig->output), 4);
    assert_got(rig, RUN_OUTPUT_OUT, "kept");
}

/* A pipe that is ready takes 4096 bytes without blocking, and may not take
 * more. */
static void writes_a_piece_at_a_time(void **state)
{
    static char bytes[5000];
    rig_t *rig = *state;

    run_output_add(rig->output, 0, RUN_OUTPUT_OUT,
                   (bytes_t){bytes, sizeof bytes});
    write_out(rig, RUN_OUTPUT_OUT);
    assert_int_equal(run_output_written(rig->output), 4096);
    write_out(rig, RUN_OUTPUT_OUT);
    assert_int_equal(run_output_written(rig->output), 5000);
}

static void drops_output_whose_reader_has_gone(void **state)
{
    rig_t *rig = *state;

    close(rig->readers[0]);
    rig->readers[0] = -1;
    add(rig, 0, RUN_OUTPUT_OUT, "lost");
    write_out(rig, RUN_OUTPUT_OUT);
    assert_int_equal(run_output_written(rig->output), 4);
    assert_int_equal(add(rig, 4, RUN_OUTPUT_OUT, "too"), 0);
    assert_int_equal(run_output_written(rig->output), 7);
    add(rig, 7, RUN_OUTPUT_ERR, "seen");
    write_out(rig, RUN_OUTPUT_ERR);
    assert_got(rig, RUN_OUTPUT_ERR, "seen");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_each_stream_to_its_file, begin,
                                        end),
        cmocka_unit_test_setup_teardown(takes_no_byte_twice, begin, end),
        cmocka_unit_test_setup_teardown(counts_bytes_that_never_came, begin,
                                        end),
        cmocka_unit_test_setup_teardown(holds_what_a_full_pipe_does_not_take,
                                        begin, end),
        cmocka_unit_test_setup_teardown(writes_a_piece_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(drops_output_whose_reader_has_gone,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
