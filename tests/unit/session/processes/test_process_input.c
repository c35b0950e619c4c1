/* Input of a process beside the kernel: the pieces that its keeper takes, and
 * the bound on input that waits. */
#include "gateway/session/processes/process_input.h"

#include "tests/lib/deeds.h"
#include "tests/lib/fake_keeper.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static process_t process;
static char text[KEEPER_INPUT_MAX];

static int begin(void **state)
{
    (void) state;
    fake_keeper = (fake_keeper_t){0};
    deeds_forget();
    process = (process_t){.link = fake_keeper_link()};
    memset(text, 'x', sizeof text);
    return 0;
}

static int write_x(size_t size, fault_t *fault)
{
    return process_input_send(&process, (bytes_t){text, size}, fault);
}

static void input_goes_to_the_keeper(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(
        process_input_send(&process, text_bytes("a line\n"), &fault), 0);
    DID("keeper INPUT 0 0 of 7 bytes");
    assert_string_equal(deeds_content("INPUT"), "a line\n");
    assert_int_equal(process.input.sent, 7);
    assert_int_equal(process_input_end(&process, &fault), 0);
    DID("keeper INPUT_END 0 0");
}

static void no_bytes_are_no_message(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(write_x(0, &fault), 0);
    DID("");
}

static void much_input_goes_in_pieces(void **state)
{
    fault_t fault;

    (void) state;
    memcpy(text + KEEPER_PIECE_MAX, "abc", 3);
    assert_int_equal(write_x(KEEPER_PIECE_MAX, &fault), 0);
    DID("keeper INPUT 0 0 of 32768 bytes");
    assert_int_equal(write_x(KEEPER_PIECE_MAX + 3, &fault), 0);
    DID("keeper INPUT 0 0 of 32768 bytes; keeper INPUT 0 0 of 3 bytes");
    assert_string_equal(deeds_content("INPUT"), "abc");
    assert_int_equal(process.input.sent, 2 * KEEPER_PIECE_MAX + 3);
}

static void more_than_the_most_may_not_wait(void **state)
{
    fault_t fault;

    (void) state;
    process.input.sent = process.input.taken = 1000;
    assert_int_equal(write_x(KEEPER_INPUT_MAX, &fault), 0);
    (void) deeds_take();
    assert_int_equal(write_x(1, &fault), -EBUSY);
    assert_string_equal(fault.text,
                        "262144 bytes of input wait for the process, and at "
                        "most 262144 may: send more when it has read them "
                        "(process_input_taken)");
    assert_int_equal(write_x(0, &fault), 0);
    DID("");
    assert_int_equal(process.input.sent, 1000 + KEEPER_INPUT_MAX);
    process.input.taken += 10;
    assert_int_equal(write_x(11, &fault), -EBUSY);
    assert_int_equal(write_x(10, &fault), 0);
    DID("keeper INPUT 0 0 of 10 bytes");
}

/* It says that the process has read more than was sent. */
static void a_keeper_that_lies_gets_nothing(void **state)
{
    fault_t fault;

    (void) state;
    process.input.taken = 1;
    assert_int_equal(write_x(1, &fault), -EBUSY);
    DID("");
}

static void what_the_link_does_not_take_was_not_sent(void **state)
{
    fault_t fault;

    (void) state;
    fake_keeper.is_full = true;
    assert_int_equal(write_x(KEEPER_PIECE_MAX + 1, &fault), -EBUSY);
    assert_string_equal(fault.text, "too much waits for the process");
    assert_int_equal(process.input.sent, 0);
    assert_int_equal(process_input_end(&process, &fault), -EBUSY);
    DID("");
}

/* A piece that was taken counts, although the next one was not. */
static void what_was_taken_of_it_counts(void **state)
{
    fault_t fault;

    (void) state;
    fake_keeper.room = 2;
    assert_int_equal(write_x(3 * KEEPER_PIECE_MAX, &fault), -EBUSY);
    DID("keeper INPUT 0 0 of 32768 bytes; keeper INPUT 0 0 of 32768 bytes");
    assert_int_equal(process.input.sent, 2 * KEEPER_PIECE_MAX);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(input_goes_to_the_keeper),
        TEST(no_bytes_are_no_message),
        TEST(much_input_goes_in_pieces),
        TEST(more_than_the_most_may_not_wait),
        TEST(a_keeper_that_lies_gets_nothing),
        TEST(what_the_link_does_not_take_was_not_sent),
        TEST(what_was_taken_of_it_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
