/* Calls whose answers come from the gateway: from a tool server of its own, or
 * from the gateway itself. No client waits for them. */
#include "gateway/session/tools/host_tools.h"

#include "gateway/session/actor/control.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/tools/tool_calls.h"
#include "protocol/jspan.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define CALL_IS(text) assert_string_equal(deeds_content("call"), text)

#define A TOOL_SERVER_PREFIX "a"
#define B TOOL_SERVER_PREFIX "b"

static void greet(session_t *self)
{
    static const char welcome[] = "{\"protocol\":1,\"last\":0,\"tools\":true}";
    jspan_t value;
    fault_t fault;

    assert_int_equal(jspan_check(welcome, strlen(welcome), &value, &fault), 0);
    host_tools_greet(self, value);
}

static int begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    greet(*state);
    (void) deeds_take();
    return 0;
}

/* Adds a call that waits; with a place, it was given to that. */
static void add(session_t *self, uint64_t id, const char *provider,
                const char *place)
{
    tool_call_t *call = mem_new(sizeof *call);

    call->id = id;
    call->number = id + 100;
    call->tool = mem_text("t");
    call->provider = mem_text(provider);
    call->place = place ? mem_text(place) : NULL;
    buffer_text(&call->arguments, "{}");
    call->begun_ms = fake_outside.now_ms;
    call->until_ms = fake_outside.now_ms + 60000;
    tool_calls_add(self->tools.calls, &call);
}

static bool waits(const session_t *self, uint64_t id)
{
    return tool_calls_find(self->tools.calls, id) != NULL;
}

static void each_server_gets_its_own_calls_once(void **state)
{
    session_t *self = *state;

    add(self, 1, A, NULL);
    add(self, 2, B, NULL);
    add(self, 3, "agent", NULL);
    host_tools_offer(self, A);
    DID("CALL " A);
    CALL_IS("{\"call\":1,\"name\":\"t\",\"arguments\":{},\"request\":0,"
            "\"seconds_left\":60}");
    host_tools_offer(self, A);
    DID("");
    host_tools_offer(self, B);
    DID("CALL " B);
}

static void a_server_learns_of_the_end_of_its_call(void **state)
{
    session_t *self = *state;
    const tool_call_t *call;

    add(self, 1, A, NULL);
    call = tool_calls_find(self->tools.calls, 1);
    host_tools_withdraw(self, call);
    DID("");
    host_tools_offer(self, A);
    (void) deeds_take();
    host_tools_withdraw(self, call);
    DID("CALL " A);
    CALL_IS("{\"call\":1,\"has_ended\":true}");
    /* A client learns it when it answers. */
    add(self, 2, "agent", "x");
    host_tools_withdraw(self, tool_calls_find(self->tools.calls, 2));
    DID("");
}

static void what_a_server_was_given_ends_with_it(void **state)
{
    session_t *self = *state;

    add(self, 1, A, "gateway");
    add(self, 2, A, NULL);
    add(self, 3, B, "gateway");
    add(self, 4, "agent", "x");
    host_tools_fail_servers(self, A, true, "it has crashed");
    DID("kernel CALLED; audit tool_call provider_left by gateway");
    assert_string_equal(deeds_content("CALLED"),
                        "{\"error\":{\"reason\":\"provider_left\",\"text\":"
                        "\"it has crashed\"}}");
    assert_false(waits(self, 1));
    assert_true(waits(self, 2) && waits(self, 3) && waits(self, 4));
    host_tools_fail_servers(self, NULL, true, "all have ended");
    assert_true(waits(self, 2) && !waits(self, 3) && waits(self, 4));
}

/* The last gateway had given it to a server, which has ended with it. */
static void a_servers_call_ends_with_its_gateway(void **state)
{
    session_t *self = *state;

    add(self, 1, A, NULL);
    add(self, 2, "agent", NULL);
    greet(self);
    assert_true(!waits(self, 1) && waits(self, 2));
    assert_non_null(
        strstr(deeds_content("CALLED"), "the gateway was started again"));
}

static void a_server_is_there_while_it_offers_tools(void **state)
{
    static const char *const providers[] = {A, "agent"};
    session_t *self = *state;

    assert_true(host_tools_has(self, TOOL_PACKAGES));
    assert_false(host_tools_has(self, A));
    for (size_t i = 0; i < sizeof providers / sizeof *providers; i++) {
        session_command_t *made = session_command_new(SESSION_TOOLS, 1);

        made->tools.kind = TOOLS_REGISTER;
        made->tools.who = mem_text("token=1");
        made->tools.provider = mem_text(providers[i]);
        made->tools.place = mem_text("x");
        made->tools.text = mem_format("[{\"name\":\"t%zu\"}]", i);
        made->tools.is_gateways = tool_offer_is_server(providers[i]);
        control_take(self, &made);
    }
    assert_true(host_tools_has(self, A) && host_tools_has(self, "agent"));
    fake_outside.now_ms += 3600000;
    assert_true(host_tools_has(self, A));
    assert_false(host_tools_has(self, "agent"));
}

/* It is tried again in half a second, not at once for ever. */
static void an_end_that_is_not_journaled_waits(void **state)
{
    session_t *self = *state;

    add(self, 1, A, "gateway");
    fake_outside.now_ms += 60000;
    host_tools_await(self);
    assert_int_equal(fake_outside.delay_ms, 500);
    timers_stop(self->timers, TIMER_TOOLS);
    fake_outside.is_journal_lost = true;
    host_tools_fail(self, 1, "timeout", "late");
    assert_true(waits(self, 1));
    assert_true(timers_is_running(self->timers, TIMER_TOOLS));
    fake_outside.is_journal_lost = false;
    timers_stop(self->timers, TIMER_TOOLS);
    host_tools_fail(self, 1, "timeout", "late");
    assert_false(waits(self, 1));
    assert_false(timers_is_running(self->timers, TIMER_TOOLS));
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_server_gets_its_own_calls_once),
        TEST(a_server_learns_of_the_end_of_its_call),
        TEST(what_a_server_was_given_ends_with_it),
        TEST(a_servers_call_ends_with_its_gateway),
        TEST(a_server_is_there_while_it_offers_tools),
        TEST(an_end_that_is_not_journaled_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
