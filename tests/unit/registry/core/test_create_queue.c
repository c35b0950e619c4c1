/* Requests for a session that wait: for their turn, or for the end of an older
 * session. Sessions are records. */
#include "gateway/registry/core/create_queue.h"

#include "gateway/registry/core/replacements.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define SAID(text) assert_string_equal(fake_said(), text)

static session_table_t *table;
static create_queue_t *queue;
static const char *replaced; /* by the next request: a session's id, or NULL */

session_entry_t *__wrap_replacements_find(const session_table_t *self,
                                          const json_t *content);

session_entry_t *__wrap_replacements_find(const session_table_t *self,
                                          const json_t *content)
{
    assert_non_null(json_object_get(content, "n"));
    return replaced ? session_table_find_any(self, replaced) : NULL;
}

static int begin(void **state)
{
    if (fake_begin(state) < 0)
        return -1;
    replaced = NULL;
    table = session_table_new(NULL);
    queue = create_queue_new(table);
    fake_add(table, "one", FAKE_TAKEN, 0);
    fake_add(table, "two", FAKE_TAKEN, 0);
    return 0;
}

static int end(void **state)
{
    (void) state;
    create_queue_destroy(&queue);
    assert_null(queue);
    create_queue_destroy(&queue); /* there is none any more */
    session_table_destroy(&table);
    return 0;
}

static session_entry_t *session(const char *id)
{
    return session_table_find_any(table, id);
}

/* Adds the request with that number, which came at as many microseconds. */
static void add(int number, const char *older_or_null)
{
    message_t *request = fake_request(number);
    json_auto_t *content = json_pack("{s:i}", "n", number);

    create_queue_add(queue, content, &request,
                     older_or_null ? session(older_or_null) : NULL, number);
    assert_null(request);
}

/* Takes the next request; returns its number, 0 if there is none. */
static int take_next(void)
{
    json_auto_t *content = NULL;
    int64_t asked_us = 0;
    cleanup_message message_t *request =
        create_queue_next(queue, &content, &asked_us);
    int number = (int) json_integer_value(json_object_get(content, "n"));

    assert_int_equal(request != NULL, number != 0);
    assert_int_equal(asked_us, number);
    return number;
}

/* Takes the first request of all; likewise. */
static int give_up(void)
{
    cleanup_message message_t *request = create_queue_give_up(queue);
    json_auto_t *content = NULL;

    if (!request)
        return 0;
    content = json_loadb(message_content(request).bytes,
                         message_content(request).size, 0, NULL);
    return (int) json_integer_value(json_object_get(content, "n"));
}

static void leave(const char *id)
{
    session_entry_t *entry = session(id);

    session_table_remove(table, &entry);
}

static void requests_come_out_in_their_order(void **state)
{
    (void) state;
    assert_int_equal(take_next(), 0);
    assert_false(create_queue_has_line(queue));
    assert_int_equal(create_queue_sessions(queue), 0);
    add(1, NULL);
    add(2, NULL);
    assert_int_equal(create_queue_size(queue), 2);
    assert_int_equal(create_queue_sessions(queue), 2);
    assert_true(create_queue_has_line(queue));
    assert_int_equal(take_next(), 1);
    add(3, NULL);
    assert_int_equal(take_next(), 2);
    assert_int_equal(take_next(), 3);
    assert_int_equal(take_next(), 0);
    add(4, NULL); /* into a queue that was empty again */
    assert_int_equal(create_queue_size(queue), 1);
    assert_int_equal(take_next(), 4);
    SAID("");
}

static void a_request_waits_for_its_older_session(void **state)
{
    (void) state;
    add(1, "one");
    SAID("one END");
    assert_int_equal(create_queue_size(queue), 1);
    assert_int_equal(take_next(), 0);
    session_table_set_gone(table, session("one"), 0); /* has its ports yet */
    assert_int_equal(take_next(), 0);
    leave("one");
    assert_int_equal(take_next(), 1);
    SAID("");
}

static void a_session_that_is_gone_is_not_asked_to_end(void **state)
{
    (void) state;
    session_table_set_gone(table, session("one"), 0);
    add(1, "one");
    SAID("");
    assert_int_equal(take_next(), 0);
}

static void others_do_not_wait_for_it(void **state)
{
    (void) state;
    add(1, "one");
    add(2, NULL);
    add(3, "two");
    add(4, NULL);
    assert_int_equal(take_next(), 2);
    assert_int_equal(take_next(), 4);
    assert_int_equal(take_next(), 0);
    add(5, NULL); /* after the last one was taken */
    assert_int_equal(create_queue_size(queue), 3);
    assert_int_equal(take_next(), 5);
    leave("two");
    assert_int_equal(take_next(), 3);
    leave("one");
    assert_int_equal(take_next(), 1);
    assert_int_equal(create_queue_size(queue), 0);
}

/* It has taken the connection file meanwhile. */
static void a_request_may_have_to_wait_for_another_session(void **state)
{
    (void) state;
    add(1, "one");
    leave("one");
    replaced = "two";
    (void) fake_said();
    assert_int_equal(take_next(), 0);
    SAID("two END");
    assert_true(create_queue_awaits(queue, session("two")));
    assert_false(create_queue_has_line(queue));
    assert_int_equal(take_next(), 0);
    SAID("");
    leave("two");
    replaced = NULL;
    assert_int_equal(take_next(), 1);
}

static void a_request_that_waits_for_its_turn_replaces_none(void **state)
{
    (void) state;
    replaced = "one";
    add(1, NULL);
    assert_int_equal(take_next(), 1);
    SAID("");
}

static void it_is_known_which_session_is_awaited(void **state)
{
    (void) state;
    assert_false(create_queue_awaits(queue, session("one")));
    add(1, NULL);
    add(2, "one");
    assert_true(create_queue_awaits(queue, session("one")));
    assert_false(create_queue_awaits(queue, session("two")));
}

static void a_line_is_of_those_that_could_be_next(void **state)
{
    (void) state;
    add(1, "one");
    assert_false(create_queue_has_line(queue));
    add(2, NULL);
    assert_true(create_queue_has_line(queue));
    assert_int_equal(take_next(), 2);
    assert_false(create_queue_has_line(queue));
    leave("one");
    assert_true(create_queue_has_line(queue));
    assert_int_equal(take_next(), 1);
    assert_false(create_queue_has_line(queue));
    add(3, NULL); /* none of them waits for a session any more */
    assert_true(create_queue_has_line(queue));
}

static void a_request_takes_the_place_of_a_session_that_lives(void **state)
{
    (void) state;
    add(1, "one");
    assert_int_equal(create_queue_sessions(queue), 0);
    add(2, NULL);
    assert_int_equal(create_queue_sessions(queue), 1);
    session_table_set_gone(table, session("one"), 0);
    assert_int_equal(create_queue_sessions(queue), 2);
    leave("one");
    assert_int_equal(create_queue_sessions(queue), 2);
    assert_int_equal(give_up(), 1);
    assert_int_equal(create_queue_sessions(queue), 1);
}

static void the_first_is_given_up_whatever_it_waits_for(void **state)
{
    (void) state;
    add(1, "one");
    add(2, NULL);
    assert_int_equal(give_up(), 1);
    assert_int_equal(give_up(), 2);
    assert_int_equal(give_up(), 0);
    add(3, "two"); /* dropped with the queue */
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(requests_come_out_in_their_order),
        TEST(a_request_waits_for_its_older_session),
        TEST(a_session_that_is_gone_is_not_asked_to_end),
        TEST(others_do_not_wait_for_it),
        TEST(a_request_may_have_to_wait_for_another_session),
        TEST(a_request_that_waits_for_its_turn_replaces_none),
        TEST(it_is_known_which_session_is_awaited),
        TEST(a_line_is_of_those_that_could_be_next),
        TEST(a_request_takes_the_place_of_a_session_that_lives),
        TEST(the_first_is_given_up_whatever_it_waits_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
