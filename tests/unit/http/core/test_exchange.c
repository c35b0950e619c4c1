/* An HTTP request as a route sees it, and the head that its answer gets. */
#include "gateway/http/core/exchange.h"

#include "gateway/http/core/http.h"
#include "gateway/http/core/response_writer.h"

#include "tests/lib/test.h"

#include <string.h>

static options_t options;
static http_t http = {.options = &options};

static void destroy(exchange_t **self_p)
{
    exchange_destroy(self_p);
}
#define cleanup_exchange CLEANUP(destroy)

static exchange_t *with_body(const char *body)
{
    exchange_t *self = exchange_new(&http, NULL);

    self->request.method = METHOD_POST;
    buffer_text(&self->request.body, body);
    return self;
}

static json_t *answer_of(const exchange_t *self)
{
    return json_loadb((const char *) self->response.body.data,
                      self->response.body.size, 0, NULL);
}

static void reads_a_body(void **state)
{
    cleanup_exchange exchange_t *self = with_body("{\"a\":[1]}");
    json_auto_t *body = NULL;

    (void) state;
    assert_true(exchange_read_object(self, &body));
    assert_int_equal(json_array_size(json_object_get(body, "a")), 1);
    assert_int_equal(self->response.status, 0);
}

static void takes_no_body_for_an_empty_object(void **state)
{
    static const char *const empty[] = {"", "null"};

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_exchange exchange_t *self = with_body(empty[i]);
        json_auto_t *body = NULL;
        assert_true(exchange_read_object(self, &body));
        assert_int_equal(json_object_size(body), 0);
    }
}

static void refuses_json_that_is_no_object(void **state)
{
    static const char *const wrong[] = {"{", "[1]", "7", "\"\xff\""};

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_exchange exchange_t *self = with_body(wrong[i]);
        json_auto_t *body = NULL;
        assert_false(exchange_read_object(self, &body));
        assert_null(body);
        assert_int_equal(self->response.status, 400);
    }
}

/* It is JSON, and the sentence does not speak of a library. */
static void names_a_nul(void **state)
{
    static const char *const bodies[] = {"{\"a\":\"x\\u0000y\"}",
                                         "{\"a\\u0000\":1}"};

    (void) state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        cleanup_exchange exchange_t *self = with_body(bodies[i]);
        json_auto_t *body = NULL;
        assert_false(exchange_read_object(self, &body));
        json_auto_t *answer = answer_of(self);
        const char *said =
            json_string_value(json_object_get(answer, "message"));
        assert_non_null(strstr(said, "a text must not have a NUL (\\u0000)"));
        assert_null(strstr(said, "JSON"));
    }
}

static void counts_the_first_answer(void **state)
{
    cleanup_exchange exchange_t *self = with_body("");

    (void) state;
    exchange_fail(self, 404, "there is no %s", "x");
    exchange_empty(self, 204);
    assert_int_equal(self->response.status, 404);
    json_auto_t *answer = answer_of(self);
    assert_string_equal(json_string_value(json_object_get(answer, "message")),
                        "there is no x");
    assert_string_equal(json_string_value(json_object_get(answer, "reason")),
                        "Not Found");
}

static void says_the_status_where_the_message_is_no_text(void **state)
{
    cleanup_exchange exchange_t *self = with_body("");

    (void) state;
    exchange_fail(self, 400, "%s", "\xff");
    json_auto_t *answer = answer_of(self);
    assert_string_equal(json_string_value(json_object_get(answer, "message")),
                        "Bad Request");
}

static void names_the_error_that_is_the_cause(void **state)
{
    static const char *const names[] = {"SessionGone", "", NULL};

    (void) state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_exchange exchange_t *self = with_body("");
        exchange_fail_by(self, 404, names[i], "%s has ended", "it");
        json_auto_t *answer = answer_of(self);
        assert_string_equal(
            json_string_value(json_object_get(answer, "message")),
            "it has ended");
        assert_int_equal(json_object_size(answer), i == 0 ? 3 : 2);
        if (i == 0)
            assert_string_equal(
                json_string_value(json_object_get(answer, "ename")), names[i]);
    }
}

static char said[64];

static void say(exchange_t *exchange, int status, const char *sentence)
{
    snprintf(said, sizeof said, "%d %s", status, sentence);
    exchange_empty(exchange, status);
}

static void has_no_name_at_a_door(void **state)
{
    static const door_t door = {.path = "/door", .fail = say};
    cleanup_exchange exchange_t *self = with_body("");

    (void) state;
    self->door = &door;
    exchange_fail_by(self, 404, "SessionGone", "%s has ended", "it");
    assert_string_equal(said, "404 it has ended");
    assert_int_equal(self->response.body.size, 0);
}

static unsigned ended;

static void note_end(const exchange_t *self)
{
    (void) self;
    ended++;
}

static void note_other_end(const exchange_t *self)
{
    (void) self;
    ended += 10;
}

static void reports_its_end_once_to_each_observer(void **state)
{
    exchange_t *self = with_body("");

    (void) state;
    ended = 0;
    exchange_on_destroy(self, note_end);
    exchange_on_destroy(self, note_other_end);
    exchange_on_destroy(self, note_end);
    assert_int_equal(ended, 0);
    exchange_destroy(&self);
    assert_int_equal(ended, 11);
    assert_null(self);
}

static void free_state(void **state_p)
{
    ++*(unsigned *) *state_p;
    *state_p = NULL;
}

static int no_more(void *state, buffer_t *out)
{
    (void) state;
    (void) out;
    return 0;
}

static void ends_each_source(void **state)
{
    exchange_t *self = with_body("");
    unsigned first = 0, second = 0;

    (void) state;
    exchange_stream(self, 200, "text/plain",
                    &(exchange_source_t){
                        .next = no_more, .state = &first, .end = free_state});
    /* One that comes too late is ended at once. */
    exchange_stream(self, 200, "text/plain",
                    &(exchange_source_t){
                        .next = no_more, .state = &second, .end = free_state});
    assert_int_equal(first, 0);
    assert_int_equal(second, 1);
    exchange_destroy(&self);
    assert_int_equal(first, 1);
}

static void names_the_client(void **state)
{
    cleanup_exchange exchange_t *self = with_body("");
    char who[EXCHANGE_WHO_SIZE];

    (void) state;
    snprintf(self->who, sizeof self->who, "own");
    assert_string_equal(exchange_who(self, who), "unknown");
    self->scopes = SCOPE_OBSERVE;
    assert_string_equal(exchange_who(self, who), "token=own");
}

/* --- The head of an answer --- */

static char *head_of(const exchange_t *self)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    response_writer_head(self, &out);
    return mem_copy(out.data, out.size);
}

static void writes_a_head(void **state)
{
    cleanup_exchange exchange_t *self = with_body("");

    (void) state;
    exchange_header(self, "Location", "/a/%d", 7);
    exchange_bytes(self, 201, "text/plain", "abc", 3);
    cleanup_free char *head = head_of(self);
    assert_int_equal(strncmp(head, "HTTP/1.1 201 Created\r\n", 22), 0);
    assert_non_null(strstr(head, "\r\nLocation: /a/7\r\n"));
    assert_non_null(strstr(head, "\r\nContent-Type: text/plain\r\n"));
    assert_non_null(strstr(head, "\r\nContent-Length: 3\r\n"));
    assert_non_null(strstr(head, "\r\nX-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(head, "\r\nCache-Control: no-store\r\n"));
    assert_non_null(strstr(head, "\r\nConnection: keep-alive\r\n\r\n"));
}

static void escapes_line_ends_from_clients(void **state)
{
    cleanup_exchange exchange_t *self = with_body("");

    (void) state;
    exchange_header(self, "Location", "/a%s", "\r\nSet-Cookie: a=b");
    exchange_empty(self, 200);
    cleanup_free char *head = head_of(self);
    assert_non_null(strstr(head, "\r\nLocation: /a  Set-Cookie: a=b\r\n"));
    assert_null(strstr(head, "\nSet-Cookie"));
}

static void says_how_the_body_ends(void **state)
{
    unsigned ends = 0;
    exchange_source_t source = {
        .next = no_more, .state = &ends, .end = free_state};

    (void) state;
    cleanup_exchange exchange_t *chunked = with_body("");
    exchange_stream(chunked, 200, "text/plain", &source);
    cleanup_free char *first = head_of(chunked);
    assert_non_null(strstr(first, "\r\nTransfer-Encoding: chunked\r\n"));
    assert_null(strstr(first, "Content-Length"));

    source.state = &ends;
    source.has_size = true;
    source.size = 5000000000u;
    cleanup_exchange exchange_t *sized = with_body("");
    exchange_stream(sized, 206, "text/plain", &source);
    sized->response.must_close = true;
    cleanup_free char *second = head_of(sized);
    assert_non_null(strstr(second, "\r\nContent-Length: 5000000000\r\n"));
    assert_null(strstr(second, "Transfer-Encoding"));
    assert_non_null(strstr(second, "\r\nConnection: close\r\n\r\n"));

    cleanup_exchange exchange_t *none = with_body("");
    exchange_empty(none, 204);
    cleanup_free char *third = head_of(none);
    assert_null(strstr(third, "Content-Length"));
    assert_null(strstr(third, "\r\nContent-Type:"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_a_body),
        cmocka_unit_test(takes_no_body_for_an_empty_object),
        cmocka_unit_test(refuses_json_that_is_no_object),
        cmocka_unit_test(names_a_nul),
        cmocka_unit_test(counts_the_first_answer),
        cmocka_unit_test(says_the_status_where_the_message_is_no_text),
        cmocka_unit_test(names_the_error_that_is_the_cause),
        cmocka_unit_test(has_no_name_at_a_door),
        cmocka_unit_test(reports_its_end_once_to_each_observer),
        cmocka_unit_test(ends_each_source),
        cmocka_unit_test(names_the_client),
        cmocka_unit_test(writes_a_head),
        cmocka_unit_test(escapes_line_ends_from_clients),
        cmocka_unit_test(says_how_the_body_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
