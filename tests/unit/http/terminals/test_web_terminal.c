/* A terminal shows its session every 15 seconds that this side is there, if it
 * has nothing else to say. */
#include "gateway/http/terminals/web_terminal.h"

#include "gateway/http/subscriptions/process_message.h"
#include "gateway/http/subscriptions/session_set.h"

#include "tests/lib/deeds.h"
#include "tests/lib/test.h"

#include <string.h>

#define LEASE_MS 15000
#define ID       "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"

static options_t options;
static http_t http = {.options = &options};
static subscription_t *subscription;
static web_terminal_t *terminal;
static int64_t now_ms;

/* The message that comes next. */
static const char *type, *content;

int64_t __wrap_clock_monotonic_ms(void);
int __wrap_process_message_send(const subscription_t *to,
                                const subscriber_t *subscriber,
                                const char *verb, json_t *sent, bytes_t data,
                                fault_t *fault);
bool __wrap_process_message_read(const frontend_event_t *event,
                                 process_message_t *ret_message);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

int __wrap_process_message_send(const subscription_t *to,
                                const subscriber_t *subscriber,
                                const char *verb, json_t *sent, bytes_t data,
                                fault_t *fault)
{
    cleanup_free char *text = json_dumps(sent, JSON_COMPACT | JSON_SORT_KEYS);

    (void) to;
    (void) subscriber;
    (void) data;
    (void) fault;
    deeds_note("%s %s", verb, text);
    json_decref(sent);
    return 0;
}

bool __wrap_process_message_read(const frontend_event_t *event,
                                 process_message_t *ret_message)
{
    static const char output[] = "text";

    (void) event;
    *ret_message =
        (process_message_t){.content = json_loads(content, 0, NULL),
                            .type = type,
                            .is_output = strcmp(type, "process_output") == 0,
                            .output = text_bytes(output)};
    return true;
}

/* The session sends a message about the process. */
static void hear(const char *what, const char *json)
{
    const frontend_event_t event = {0};
    subscriber_t *subscriber = subscription->subscribers;

    type = what;
    content = json;
    subscriber->ops->event(subscriber, &event);
}

static int begin(void **state)
{
    const web_terminal_place_t place = {
        .name = "1", .session = ID, .process = 7, .who = "a"};

    (void) state;
    now_ms = 1000;
    deeds_forget();
    http.subscriptions = subscription_table_new();
    http.executions = zhashx_new();
    http.terminals = zhashx_new();
    http.session_set = session_set_new();
    http.is_informed = true;
    session_set_note(&http, ID, true);
    subscription = mem_new(sizeof *subscription);
    subscription->http = &http;
    subscription->is_greeted = true;
    snprintf(subscription->id, sizeof subscription->id, ID);
    zhashx_insert(http.subscriptions, ID, subscription);
    terminal = web_terminal_new(&http, &place);
    web_terminal_follow(terminal);
    return 0;
}

static int end(void **state)
{
    (void) state;
    web_terminal_destroy(&terminal);
    subscription_destroy_all(&http);
    zhashx_destroy(&http.executions);
    zhashx_destroy(&http.terminals);
    zhashx_destroy(&http.session_set);
    return 0;
}

static void pass(int64_t ms)
{
    now_ms += ms;
    subscription_on_tick(&http);
}

static void did(const char *what)
{
    assert_string_equal(deeds_take(), what);
}

static void attach(void)
{
    hear("process_attach_reply", "{\"status\":\"ok\",\"input_taken\":0}");
    did("attach_request {\"from\":0,\"process\":7}; "
        "taken {\"offset\":0,\"process\":7}");
}

static void shows_every_fifteen_seconds_that_it_is_there(void **state)
{
    (void) state;
    attach();
    for (int i = 0; i < 3; i++) {
        pass(LEASE_MS - 1);
        did("");
        pass(1);
        did("taken {\"offset\":0,\"process\":7}");
    }
}

static void output_that_it_takes_shows_it_too(void **state)
{
    (void) state;
    attach();
    pass(LEASE_MS - 1);
    hear("process_output", "{\"offset\":0}");
    did("taken {\"offset\":4,\"process\":7}");
    pass(LEASE_MS - 1);
    did("");
    pass(1);
    did("taken {\"offset\":0,\"process\":7}");
}

static void says_nothing_before_it_is_attached(void **state)
{
    (void) state;
    did("attach_request {\"from\":0,\"process\":7}");
    pass(10 * LEASE_MS);
    did("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(shows_every_fifteen_seconds_that_it_is_there),
        TEST(output_that_it_takes_shows_it_too),
        TEST(says_nothing_before_it_is_attached),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
