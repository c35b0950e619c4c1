/* Reports of a session go over its pipe, whole. The loop looks at the pipe's
 * reader again after each of them. */
#include "gateway/session/lifecycle/notify.h"

#include "gateway/channels/zmq_reader.h"
#include "gateway/frontends/handover.h"
#include "tests/lib/test.h"

#include <string.h>

static session_report_t *last; /* owned */
static const void *socket_used;
static int touches;
static bool has_input;
static char pipe_place, reader_place;

#define PIPE   ((zsock_t *) &pipe_place)
#define READER ((zmq_reader_t *) &reader_place)

void __wrap_handover_send(void *socket, void *object);
zmq_reader_t *__wrap_zmq_reader_new(zloop_t *loop, zsock_t *socket,
                                    zloop_reader_fn *handler, void *arg);
bool __wrap_zmq_reader_has_input(zmq_reader_t *self);
void __wrap_zmq_reader_touch(zmq_reader_t *self);
void __wrap_zmq_reader_destroy(zmq_reader_t **self_p);

void __wrap_handover_send(void *socket, void *object)
{
    socket_used = socket;
    session_report_destroy(&last);
    last = object;
}

zmq_reader_t *__wrap_zmq_reader_new(zloop_t *loop, zsock_t *socket,
                                    zloop_reader_fn *handler, void *arg)
{
    (void) loop;
    (void) handler;
    assert_ptr_equal(socket, PIPE);
    assert_ptr_equal(arg, &touches);
    return READER;
}

bool __wrap_zmq_reader_has_input(zmq_reader_t *self)
{
    assert_ptr_equal(self, READER);
    return has_input;
}

void __wrap_zmq_reader_touch(zmq_reader_t *self)
{
    assert_ptr_equal(self, READER);
    touches++;
}

void __wrap_zmq_reader_destroy(zmq_reader_t **self_p)
{
    *self_p = NULL;
}

static int begin(void **state)
{
    *state = notify_new(PIPE);
    touches = 0;
    return 0;
}

static int end(void **state)
{
    notify_t *self = *state;

    notify_destroy(&self);
    assert_null(self);
    session_report_destroy(&last);
    return 0;
}

static void reports_have_a_kind(void **state)
{
    notify_report(*state, SESSION_DRAINED);
    assert_int_equal(last->kind, SESSION_DRAINED);
    assert_int_equal(last->token, 0);
    assert_ptr_equal(socket_used, PIPE);
}

static void an_answer_has_its_token(void **state)
{
    notify_answer(*state, 7, json_string("yes"));
    assert_int_equal(last->kind, SESSION_ANSWERED);
    assert_int_equal(last->token, 7);
    assert_string_equal(json_string_value(last->answer), "yes");
}

static void a_limit_has_a_name(void **state)
{
    notify_limit(*state, "memory");
    assert_int_equal(last->kind, SESSION_LIMIT);
    assert_string_equal(last->text, "memory");
}

static void a_group_that_is_left_has_its_name(void **state)
{
    notify_left(*state, "a.1");
    assert_int_equal(last->kind, SESSION_LEFT);
    assert_string_equal(last->text, "a.1");
}

static void an_end_has_a_reason(void **state)
{
    notify_gone(*state, "memory", "too much");
    assert_int_equal(last->kind, SESSION_GONE);
    assert_string_equal(last->gone.reason, "memory");
    assert_string_equal(last->gone.detail, "too much");
    notify_gone(*state, "a reason that is too long", NULL);
    assert_string_equal(last->gone.reason, "a reason that i");
    assert_string_equal(last->gone.detail, "");
}

static void the_reader_is_touched_once_it_listens(void **state)
{
    notify_report(*state, SESSION_DRAINED);
    assert_int_equal(touches, 0);
    notify_listen(*state, NULL, NULL, &touches);
    notify_report(*state, SESSION_DRAINED);
    assert_int_equal(touches, 1);
}

static void a_command_is_looked_for_in_the_next_turn(void **state)
{
    has_input = true;
    assert_false(notify_has_command(*state)); /* it does not listen yet */
    notify_listen(*state, NULL, NULL, &touches);
    assert_true(notify_has_command(*state));
    assert_int_equal(touches, 1);
    has_input = false;
    assert_false(notify_has_command(*state));
    assert_int_equal(touches, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reports_have_a_kind),
        TEST(an_answer_has_its_token),
        TEST(a_limit_has_a_name),
        TEST(a_group_that_is_left_has_its_name),
        TEST(an_end_has_a_reason),
        TEST(the_reader_is_touched_once_it_listens),
        TEST(a_command_is_looked_for_in_the_next_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
