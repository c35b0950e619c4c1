/* Messages of a session reach its subscribers, and requests that wait for a
 * session are answered when it reaches their state. */
#include "gateway/http/subscriptions/subscription.h"

#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/session_set.h"

#include "tests/lib/test.h"

#include <string.h>

#define ID "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"

static options_t options;
static http_t http = {.options = &options};

static subscription_t *subscription;

static int64_t now_ms; /* of the clock that the test moves on */

int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

/* Notes its calls, one letter for each. */
typedef struct {
    subscriber_t subscriber; /* first */
    char reported[32];
    int status;
    subscriber_t *leaves[3]; /* who leaves when this is called; NULL: none */
} noting_subscriber_t;

static noting_subscriber_t one, other, third;

static void note(subscriber_t *subscriber, char letter)
{
    noting_subscriber_t *self = (noting_subscriber_t *) subscriber;

    self->reported[strlen(self->reported)] = letter;
    for (size_t i = 0; i < 3 && self->leaves[i]; i++)
        subscription_remove(subscription, self->leaves[i]);
}

static void on_hello(subscriber_t *self, bool is_first)
{
    note(self, is_first ? 'H' : 'h');
}

static void on_event(subscriber_t *self, const frontend_event_t *event)
{
    (void) event;
    note(self, 'e');
}

static void on_end(subscriber_t *self, int status, const char *text)
{
    (void) text;
    ((noting_subscriber_t *) self)->status = status;
    note(self, 'x');
}

static void on_tick(subscriber_t *self, int64_t now)
{
    (void) now;
    note(self, 't');
}

static void on_detach(subscriber_t *self)
{
    subscription_remove(subscription, self);
    note(self, 'd');
}

static const subscriber_ops_t ops = {.is_connection = true,
                                     .hello = on_hello,
                                     .event = on_event,
                                     .end = on_end,
                                     .tick = on_tick,
                                     .detach = on_detach};

static noting_subscriber_t named(const char *name)
{
    noting_subscriber_t self = {.subscriber = {.ops = &ops}};

    snprintf(self.subscriber.name, sizeof self.subscriber.name, "%s", name);
    return self;
}

static int prepare(void **state)
{
    (void) state;
    http.subscriptions = subscription_table_new();
    http.executions = zhashx_new();
    http.session_set = session_set_new();
    session_set_note(&http, ID, true);
    subscription = mem_new(sizeof *subscription);
    subscription->http = &http;
    snprintf(subscription->id, sizeof subscription->id, ID);
    zhashx_insert(http.subscriptions, ID, subscription);
    one = named("a");
    other = named("ab");
    third = named("abc");
    return 0;
}

static int clean_up(void **state)
{
    (void) state;
    subscription_destroy_all(&http);
    zhashx_destroy(&http.executions);
    zhashx_destroy(&http.session_set);
    return 0;
}

static void tell(frontend_what_t what, const char *json)
{
    frontend_event_t event = {
        .what = what, .session = ID, .seq = 7, .json = {json, strlen(json)}};

    subscription_on_event(&http, &event);
}

static void say_hello(const char *session_state)
{
    cleanup_free char *json = mem_format("{\"state\":\"%s\",\"journal\":\"/j\","
                                         "\"kernel_session\":\"k\"}",
                                         session_state);
    tell(FRONTEND_HELLO, json);
}

static void message(const char *client)
{
    const frontend_event_t event = {.what = FRONTEND_EVENT,
                                    .session = ID,
                                    .seq = 8,
                                    .client = {client, strlen(client)}};

    subscription_on_event(&http, &event);
}

static void greets_all_and_again_after_a_gap(void **state)
{
    (void) state;
    subscription_add(subscription, &one.subscriber);
    subscription_add(subscription, &other.subscriber);
    assert_false(subscription_is_alive(subscription));
    say_hello("idle");
    say_hello("idle");
    assert_true(subscription_is_alive(subscription));
    assert_string_equal(subscription->journal, "/j");
    assert_int_equal(subscription->last_seq, 7);
    assert_string_equal(one.reported, "Hh");
    assert_string_equal(other.reported, "Hh");
    assert_int_equal(subscription_client_count(&http, ID), 2);
}

/* Sends busy or idle of a request. */
static void turn(uint64_t request, const char *state)
{
    cleanup_free char *content =
        mem_format("{\"execution_state\":\"%s\"}", state);
    const frontend_event_t event = {.what = FRONTEND_EVENT,
                                    .session = ID,
                                    .channel = CHANNEL_IOPUB,
                                    .request = request,
                                    .content = {content, strlen(content)}};

    subscription_on_event(&http, &event);
}

static void is_idle_while_no_request_runs(void **state)
{
    (void) state;
    assert_false(subscription_is_idle(subscription));
    say_hello("starting");
    assert_false(subscription_is_idle(subscription));
    tell(FRONTEND_STATE, "{\"state\":\"idle\"}");
    assert_true(subscription_is_idle(subscription));
    turn(1, "busy");
    assert_false(subscription_is_idle(subscription));
    turn(0, "idle"); /* answered beside the kernel's work */
    turn(2, "idle");
    assert_false(subscription_is_idle(subscription));
    turn(1, "idle");
    assert_true(subscription_is_idle(subscription));
    say_hello("busy"); /* with a request whose busy was left out */
    assert_false(subscription_is_idle(subscription));
    turn(3, "idle");
    assert_true(subscription_is_idle(subscription));
    tell(FRONTEND_STATE, "{\"state\":\"gone\",\"detail\":\"\"}");
    assert_false(subscription_is_idle(subscription));
}

static void notes_a_change_of_state(subscriber_t *self)
{
    note(self, 's');
}

static void reports_a_change_of_state(void **state)
{
    subscriber_ops_t curious = ops;

    (void) state;
    curious.state = notes_a_change_of_state;
    one.subscriber.ops = &curious;
    subscription_add(subscription, &one.subscriber);
    subscription_add(subscription, &other.subscriber);
    say_hello("starting");
    tell(FRONTEND_STATE, "{\"state\":\"idle\"}");
    assert_string_equal(one.reported, "sHs");
    assert_string_equal(other.reported, "H");
    subscription_remove(subscription, &one.subscriber);
    subscription_remove(subscription, &other.subscriber);
}

static void delivers_a_message_to_its_client(void **state)
{
    (void) state;
    subscription_add(subscription, &one.subscriber);
    subscription_add(subscription, &other.subscriber);
    message("ab");
    assert_string_equal(one.reported, "");
    assert_string_equal(other.reported, "e");
    message("");
    assert_string_equal(one.reported, "e");
    assert_string_equal(other.reported, "ee");
    assert_int_equal(subscription->last_seq, 8);
}

/* The first one that is called ends itself and the one after it. */
static void goes_on_when_subscribers_leave(void **state)
{
    static const char *const reported[] = {"H", "e", "t", "x"};

    (void) state;
    for (size_t i = 0; i < sizeof reported / sizeof *reported; i++) {
        one = named("a");
        other = named("ab");
        third = named("abc");
        third.leaves[0] = &third.subscriber;
        third.leaves[1] = &other.subscriber;
        subscription_add(subscription, &one.subscriber);
        subscription_add(subscription, &other.subscriber);
        subscription_add(subscription, &third.subscriber);
        if (i == 0)
            say_hello("idle");
        else if (i == 1)
            message("");
        else if (i == 2)
            subscription_on_tick(&http);
        else
            subscription_close_all(&http, 1001);
        assert_string_equal(third.reported, reported[i]);
        assert_string_equal(other.reported, "");
        assert_string_equal(one.reported, reported[i]);
        subscription_remove(subscription, &one.subscriber);
        assert_null(subscription->subscribers);
    }
}

static void shows_all_messages_to_who_watches(void **state)
{
    subscriber_ops_t watching = ops;

    (void) state;
    watching.sees_all = true;
    one.subscriber.ops = &watching;
    subscription_add(subscription, &one.subscriber);
    message("ab");
    message("");
    assert_string_equal(one.reported, "ee");
    subscription_remove(subscription, &one.subscriber);
}

static void ends_its_clients_when_the_session_is_gone(void **state)
{
    (void) state;
    say_hello("idle");
    subscription_add(subscription, &one.subscriber);
    tell(FRONTEND_BYE, "{\"reason\":\"absent\",\"sentence\":\"it is gone\"}");
    assert_string_equal(one.reported, "x");
    assert_int_equal(one.status, 1000);
    assert_false(subscription_is_alive(subscription));
    assert_string_equal(subscription->farewell, "it is gone");
    assert_false(session_set_has(&http, ID));
}

static void closes_clients_with_service_restart_on_a_drain(void **state)
{
    (void) state;
    say_hello("idle");
    subscription_add(subscription, &one.subscriber);
    tell(FRONTEND_BYE, "{\"reason\":\"drained\",\"sentence\":\"\"}");
    assert_int_equal(one.status, WS_CLOSE_SERVICE_RESTART);
    assert_true(session_set_has(&http, ID));
}

static void detaches_clients_that_remain(void **state)
{
    (void) state;
    subscription_add(subscription, &one.subscriber);
    subscription_add(subscription, &other.subscriber);
    zhashx_delete(http.subscriptions, ID);
    assert_string_equal(one.reported, "d");
    assert_string_equal(other.reported, "d");
}

/* --- Requests that wait --- */

static char answered[32];

static void on_answer(exchange_t *exchange, const json_t *session)
{
    (void) exchange;
    answered[strlen(answered)] = !session                    ? '0'
                                 : json_object_size(session) ? '1'
                                                             : '?';
}

static exchange_t *waiting(await_t what)
{
    exchange_t *exchange = exchange_new(&http, NULL);

    memset(answered, 0, sizeof answered);
    subscription_await(subscription, exchange, what, on_answer);
    return exchange;
}

static void answers_once_the_session_is_attached(void **state)
{
    exchange_t *exchange = waiting(AWAIT_HELLO);

    (void) state;
    tell(FRONTEND_STATE, "{\"state\":\"starting\"}");
    assert_string_equal(answered, "");
    say_hello("starting");
    assert_string_equal(answered, "1");
    exchange_destroy(&exchange);
}

static void answers_after_the_session_has_come_back(void **state)
{
    exchange_t *exchange = waiting(AWAIT_READY);

    (void) state;
    tell(FRONTEND_STATE, "{\"state\":\"idle\"}");
    assert_string_equal(answered, "");
    tell(FRONTEND_STATE, "{\"state\":\"starting\"}");
    tell(FRONTEND_STATE, "{\"state\":\"idle\"}");
    assert_string_equal(answered, "1");
    tell(FRONTEND_STATE, "{\"state\":\"gone\"}");
    assert_string_equal(answered, "1");
    exchange_destroy(&exchange);
}

static void pass_patience(void)
{
    now_ms += SUBSCRIPTION_PATIENCE_S * 1000 + 1;
    subscription_on_tick(&http);
}

static void answers_when_the_patience_is_over(void **state)
{
    exchange_t *exchange = waiting(AWAIT_HELLO);

    (void) state;
    subscription_add(subscription, &one.subscriber);
    now_ms += SUBSCRIPTION_PATIENCE_S * 1000;
    subscription_on_tick(&http);
    assert_string_equal(answered, "");
    pass_patience();
    assert_string_equal(answered, "?");
    exchange_destroy(&exchange);
}

/* A restart may wait for packages before it is accepted. */
static void has_patience_until_a_restart_is_accepted(void **state)
{
    exchange_t *exchange = waiting(AWAIT_READY),
               *other_one = exchange_new(&http, NULL);

    (void) state;
    subscription_add(subscription, &one.subscriber);
    pass_patience();
    subscription_start_patience(other_one);
    pass_patience();
    assert_string_equal(answered, "");
    subscription_start_patience(exchange);
    subscription_on_tick(&http);
    assert_string_equal(answered, "");
    pass_patience();
    assert_string_equal(answered, "?");
    exchange_destroy(&exchange);
    exchange_destroy(&other_one);
}

static void answers_all_clients_when_the_session_is_gone(void **state)
{
    exchange_t *exchange = waiting(AWAIT_READY);

    (void) state;
    subscription_await(subscription, exchange, AWAIT_END, on_answer);
    tell(FRONTEND_STATE, "{\"state\":\"gone\",\"detail\":\"idle\"}");
    assert_string_equal(answered, "00");
    assert_string_equal(subscription->farewell, "idle");
    exchange_destroy(&exchange);
}

static void forgets_a_request_of_a_disconnected_client(void **state)
{
    exchange_t *exchange = waiting(AWAIT_HELLO);

    (void) state;
    subscription_follow(subscription, exchange);
    exchange_destroy(&exchange);
    assert_null(subscription->awaiting);
    assert_null(subscription->followers);
    say_hello("idle");
    assert_string_equal(answered, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, prepare, clean_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(greets_all_and_again_after_a_gap),
        TEST(is_idle_while_no_request_runs),
        TEST(reports_a_change_of_state),
        TEST(delivers_a_message_to_its_client),
        TEST(goes_on_when_subscribers_leave),
        TEST(shows_all_messages_to_who_watches),
        TEST(ends_its_clients_when_the_session_is_gone),
        TEST(closes_clients_with_service_restart_on_a_drain),
        TEST(detaches_clients_that_remain),
        TEST(answers_once_the_session_is_attached),
        TEST(answers_after_the_session_has_come_back),
        TEST(answers_when_the_patience_is_over),
        TEST(has_patience_until_a_restart_is_accepted),
        TEST(answers_all_clients_when_the_session_is_gone),
        TEST(forgets_a_request_of_a_disconnected_client),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
