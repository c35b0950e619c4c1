/* When a call about a program is answered: by what has come, and by a tick if
 * that does not come. The session is what the test says, and the clock too. */
#include "gateway/http/mcp/tools/tool_process.h"

#include "gateway/http/core/http.h"
#include "gateway/http/core/wakeup.h"
#include "gateway/http/mcp/tools/tool_session.h"
#include "gateway/http/subscriptions/process_message.h"

#include "tests/lib/test.h"

#include <string.h>

static options_t options;
static http_t http = {.options = &options};
static exchange_t *exchange;
static mcp_call_t call;
static subscription_t subscription = {.id = "s1", .is_greeted = true};
static subscriber_t *subscriber;
static char sent[32];              /* the verb of the last message */
static process_message_t incoming; /* the next one that is read */
static wakeup_fn *on_time;         /* NULL: no wakeup is set */
static void *on_time_arg;
static int64_t delay_ms, now_ms;

int64_t __wrap_clock_monotonic_ms(void);
subscription_t *__wrap_subscription_open(http_t *self, const char *session,
                                         fault_t *fault);
void __wrap_subscription_add(subscription_t *self, subscriber_t *added);
void __wrap_subscription_remove(subscription_t *self, subscriber_t *removed);
int __wrap_process_message_send(const subscription_t *self,
                                const subscriber_t *by, const char *verb,
                                json_t *content, bytes_t data, fault_t *fault);
bool __wrap_process_message_read(const frontend_event_t *event,
                                 process_message_t *ret_message);
const json_t *__wrap_tool_session_alive(mcp_call_t *self, const json_t *reply);
void __wrap_tool_result_process(mcp_call_t *self, bool is_error,
                                const buffer_t *text, json_t *structured);
void __wrap_wakeup_set(wakeup_t *self, const exchange_t *of, int64_t ms,
                       wakeup_fn *fn, void *arg);
void __wrap_wakeup_cancel(wakeup_t *self);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

subscription_t *__wrap_subscription_open(http_t *self, const char *session,
                                         fault_t *fault)
{
    (void) self;
    (void) session;
    (void) fault;
    return &subscription;
}

void __wrap_subscription_add(subscription_t *self, subscriber_t *added)
{
    (void) self;
    subscriber = added;
}

void __wrap_subscription_remove(subscription_t *self, subscriber_t *removed)
{
    (void) self;
    (void) removed;
}

int __wrap_process_message_send(const subscription_t *self,
                                const subscriber_t *by, const char *verb,
                                json_t *content, bytes_t data, fault_t *fault)
{
    (void) self;
    (void) by;
    (void) data;
    (void) fault;
    snprintf(sent, sizeof sent, "%s", verb);
    json_decref(content);
    return 0;
}

bool __wrap_process_message_read(const frontend_event_t *event,
                                 process_message_t *ret_message)
{
    (void) event;
    *ret_message = incoming;
    return true;
}

const json_t *__wrap_tool_session_alive(mcp_call_t *self, const json_t *reply)
{
    (void) self;
    return reply;
}

void __wrap_tool_result_process(mcp_call_t *self, bool is_error,
                                const buffer_t *text, json_t *structured)
{
    (void) is_error;
    (void) text;
    self->is_answered = true;
    json_decref(structured);
}

void __wrap_wakeup_set(wakeup_t *self, const exchange_t *of, int64_t ms,
                       wakeup_fn *fn, void *arg)
{
    (void) self;
    (void) of;
    delay_ms = ms;
    on_time = fn;
    on_time_arg = arg;
}

void __wrap_wakeup_cancel(wakeup_t *self)
{
    (void) self;
    on_time = NULL;
}

static int end(void **state)
{
    (void) state;
    call.state_end(&call.state);
    json_decref(call.arguments);
    exchange->task = NULL;
    exchange_destroy(&exchange);
    assert_null(on_time);
    return 0;
}

/* Begins a call with these arguments, which are taken. */
static void begin(void (*tool)(exchange_t *, const json_t *), json_t *arguments)
{
    json_auto_t *session = json_pack("{s:s}", "id", "s1");

    now_ms = 1000;
    on_time = NULL;
    exchange = exchange_new(&http, NULL);
    call = (mcp_call_t){.exchange = exchange, .arguments = arguments};
    exchange->task = &call;
    tool(exchange, session);
}

/* The session sends a message; `content` is taken. */
static void hear(const char *type, json_t *content, const char *output)
{
    incoming = (process_message_t){.content = content,
                                   .type = type,
                                   .is_output = output,
                                   .output = text_bytes(output ? output : "")};
    subscriber->ops->event(subscriber, NULL);
}

/* The session describes the program, which has written so much. */
static void describe(const char *state, int bytes)
{
    hear("process_attach_reply",
         json_pack("{s:s,s:i,s:{s:i,s:s,s:i}}", "status", "ok", "offset", 0,
                   "process", "process", 1, "state", state, "stdout_bytes",
                   bytes),
         NULL);
}

static void attach(int bytes)
{
    describe("running", bytes);
}

static void tick(int ms)
{
    now_ms += ms;
    subscriber->ops->tick(subscriber, now_ms);
}

/* The moment comes that was asked for. */
static void wait_for_wakeup(void)
{
    assert_non_null(on_time);
    now_ms += delay_ms;
    on_time(on_time_arg);
}

static void a_write_is_answered_a_moment_after_its_output(void **state)
{
    (void) state;
    begin(tool_process_write,
          json_pack("{s:i,s:s}", "process", 1, "input", "a\n"));
    assert_string_equal(sent, "input_request");
    hear("process_input_reply",
         json_pack("{s:s,s:i}", "status", "ok", "output", 4), NULL);
    assert_string_equal(sent, "attach_request");
    attach(4);
    assert_int_equal(delay_ms, 5000);
    now_ms += 10;
    hear("process_output", json_pack("{s:i}", "offset", 4), "a\n");
    assert_int_equal(delay_ms, 700);
    now_ms += 600;
    hear("process_output", json_pack("{s:i}", "offset", 6), "b\n");
    assert_int_equal(delay_ms, 700);
    assert_false(call.is_answered);
    wait_for_wakeup();
    assert_true(call.is_answered);
}

static void output_is_answered_at_once_and_without_it_in_time(void **state)
{
    (void) state;
    begin(tool_process_output,
          json_pack("{s:i,s:f}", "process", 1, "seconds", 0.5));
    attach(0);
    assert_int_equal(delay_ms, 500);
    assert_false(call.is_answered);
    wait_for_wakeup();
    assert_true(call.is_answered);
    (void) end(NULL);
    begin(tool_process_output, json_pack("{s:i}", "process", 1));
    attach(2);
    assert_false(call.is_answered);
    hear("process_output", json_pack("{s:i}", "offset", 0), "a\n");
    assert_true(call.is_answered);
}

/* No wakeup is set: the rest is expected. */
static void output_that_does_not_come_is_not_awaited_longer(void **state)
{
    (void) state;
    begin(tool_process_output,
          json_pack("{s:i,s:i}", "process", 1, "seconds", 2));
    attach(4);
    hear("process_output", json_pack("{s:i}", "offset", 0), "a\n");
    assert_null(on_time);
    tick(1999);
    assert_false(call.is_answered);
    tick(1);
    assert_true(call.is_answered);
}

static void an_end_that_is_not_reported_is_not_awaited_longer(void **state)
{
    (void) state;
    begin(tool_process_output,
          json_pack("{s:i,s:i}", "process", 1, "seconds", 2));
    describe("ended", 0);
    assert_null(on_time);
    tick(1999);
    assert_false(call.is_answered);
    tick(1);
    assert_true(call.is_answered);
}

static void a_tick_leaves_the_wakeup_as_it_is(void **state)
{
    (void) state;
    begin(tool_process_output,
          json_pack("{s:i,s:i}", "process", 1, "seconds", 2));
    attach(0);
    assert_int_equal(delay_ms, 2000);
    tick(1000);
    assert_int_equal(delay_ms, 2000);
    now_ms += 1000;
    on_time(on_time_arg);
    assert_true(call.is_answered);
}

static void a_wakeup_after_the_subscription_answers_nothing(void **state)
{
    (void) state;
    begin(tool_process_output,
          json_pack("{s:i,s:i}", "process", 1, "seconds", 2));
    attach(0);
    subscriber->ops->detach(subscriber);
    wait_for_wakeup();
    assert_false(call.is_answered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_write_is_answered_a_moment_after_its_output,
                                  end),
        cmocka_unit_test_teardown(
            output_is_answered_at_once_and_without_it_in_time, end),
        cmocka_unit_test_teardown(
            output_that_does_not_come_is_not_awaited_longer, end),
        cmocka_unit_test_teardown(
            an_end_that_is_not_reported_is_not_awaited_longer, end),
        cmocka_unit_test_teardown(a_tick_leaves_the_wakeup_as_it_is, end),
        cmocka_unit_test_teardown(
            a_wakeup_after_the_subscription_answers_nothing, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
