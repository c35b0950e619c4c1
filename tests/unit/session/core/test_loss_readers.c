#include "gateway/session/core/loss_readers.h"

#include "base/cleanup.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define cleanup_readers CLEANUP(loss_readers_clear)

/* Returns the name by which the sender of a cell is known, lent; "" if it wants
 * to learn of no loss. */
static const char *reader_of(const char *frontend, const char *client,
                             const char *own, const char *content)
{
    static char reader[LOSS_READERS_NAME_SIZE];
    cleanup_free char *metadata = mem_format("{\"hearth\":%s}", own);
    message_t *message = message_new(
        text_bytes("{\"msg_id\":\"m\",\"msg_type\":\"execute_request\"}"),
        text_bytes("{}"), text_bytes(metadata), text_bytes(content));

    message_add_identity(message, client, strlen(client));
    cleanup_request request_t *request =
        request_new(1, CHANNEL_SHELL, &message);
    snprintf(request->frontend, sizeof request->frontend, "%s", frontend);
    return loss_readers_name(request, reader) ? reader : "";
}

static void a_reader_is_a_token_or_the_key(void **state)
{
    static const char cell[] = "{\"code\":\"1\"}";
    static const char one[] = "{\"reader\":\"gateway\"}";
    cleanup_free char *token = mem_text(reader_of("http", "rest/1", one, cell));

    (void) state;
    assert_int_equal(strlen(token), LOSS_READERS_NAME_SIZE - 1);
    assert_null(strstr(token, "gateway"));
    assert_string_equal(reader_of("http", "rest/2", one, cell), token);
    assert_string_not_equal(
        reader_of("http", "rest/1", "{\"reader\":\"other\"}", cell), token);
    /* Each client with the key is the same one, and no token. */
    cleanup_free char *key = mem_text(reader_of("", "a", one, cell));
    assert_string_not_equal(key, token);
    assert_string_equal(reader_of("", "b", "{\"reader\":\"x\"}", cell), key);
}

static void others_are_no_readers(void **state)
{
    static const char cell[] = "{\"code\":\"1\"}";
    static const char one[] = "{\"reader\":\"gateway\"}";

    (void) state;
    assert_string_equal(reader_of("http", "rest/1", "{}", cell), "");
    assert_string_equal(reader_of("http", "rest/1", "{\"reader\":7}", cell),
                        "");
    /* A viewer's metadata name no reader. */
    assert_string_equal(reader_of("http", "gateway/tab", one, cell), "");
    assert_string_equal(
        reader_of("", "a", one, "{\"code\":\"1\",\"silent\":true}"), "");
}

static void a_list_has_each_reader_once(void **state)
{
    cleanup_readers loss_readers_t self = {0};

    (void) state;
    assert_false(loss_readers_has(&self, "a"));
    loss_readers_add(&self, "a", 1);
    loss_readers_add(&self, "b", 1);
    loss_readers_add(&self, "a", 1);
    assert_int_equal(self.count, 2);
    assert_string_equal(self.list[0].name, "a");
    assert_true(loss_readers_has(&self, "b"));
    assert_false(loss_readers_has(&self, "c"));
    loss_readers_clear(&self);
    assert_int_equal(self.count, 0);
    assert_false(loss_readers_has(&self, "a"));
}

static void a_full_list_forgets_the_oldest(void **state)
{
    cleanup_readers loss_readers_t self = {0};
    char name[LOSS_READERS_NAME_SIZE];

    (void) state;
    for (int i = 0; i < LOSS_READERS_MAX + 2; i++) {
        snprintf(name, sizeof name, "%d", i);
        loss_readers_add(&self, name, 1);
    }
    assert_int_equal(self.count, LOSS_READERS_MAX);
    assert_false(loss_readers_has(&self, "0"));
    assert_false(loss_readers_has(&self, "1"));
    assert_string_equal(self.list[0].name, "2");
    assert_string_equal(self.list[LOSS_READERS_MAX - 1].name, name);
    /* One that it has takes no place. */
    loss_readers_add(&self, "2", 1);
    assert_string_equal(self.list[0].name, "2");
}

static void a_reader_with_another_number_is_the_newest(void **state)
{
    cleanup_readers loss_readers_t self = {0};

    (void) state;
    loss_readers_add(&self, "a", 1);
    loss_readers_add(&self, "b", 2);
    assert_int_equal(loss_readers_number(&self, "a"), 1);
    loss_readers_add(&self, "a", 3);
    assert_int_equal(self.count, 2);
    assert_string_equal(self.list[1].name, "a");
    assert_int_equal(loss_readers_number(&self, "a"), 3);
    assert_int_equal(loss_readers_number(&self, "b"), 2);
    assert_int_equal(loss_readers_number(&self, "c"), 0);
}

/* A journal may have any text in its place. */
static void a_name_that_is_too_long_is_left_out(void **state)
{
    static const char longest[] = "0123456789abcdef0123456789abcdef";
    cleanup_readers loss_readers_t self = {0};

    (void) state;
    loss_readers_add(&self, longest, 1);
    assert_true(loss_readers_has(&self, longest));
    loss_readers_add(&self, "x0123456789abcdef0123456789abcdef", 1);
    assert_int_equal(self.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_is_a_token_or_the_key),
        cmocka_unit_test(others_are_no_readers),
        cmocka_unit_test(a_list_has_each_reader_once),
        cmocka_unit_test(a_full_list_forgets_the_oldest),
        cmocka_unit_test(a_reader_with_another_number_is_the_newest),
        cmocka_unit_test(a_name_that_is_too_long_is_left_out),
    };

    return cmocka_run_group_tests_name("loss_readers", tests, NULL, NULL);
}
