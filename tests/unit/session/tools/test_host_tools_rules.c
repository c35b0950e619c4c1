/* Which host tools a session may call, and how many calls there may be. */
#include "gateway/session/tools/host_tools.h"

#include "tests/lib/host_tool_steps.h"

#include <string.h>

static void limits_are_errors(void **state)
{
    session_t *self = *state;
    char big[1100];

    steps_ready(self);
    steps_call(self, 11, "t");
    steps_call(self, 12, "t");
    (void) deeds_take();
    steps_call(self, 13, "t");
    DID("LIMIT tool_waiting; audit limit refused by kernel; kernel CALLED; "
        "audit tool_call limit by gateway");
    HAS("{\"count\":1,\"limit\":\"tool_waiting\",\"max\":2}", "limit");
    memset(big, '1', sizeof big);
    big[sizeof big - 1] = '\0';
    steps_answer(self, TOOLS_ANSWER, steps_waiting(self), big);
    DID("LIMIT tool_result_bytes; audit limit refused by kernel; "
        "kernel CALLED; audit tool_call limit by token=1; "
        "ANSWERED 3 error BadRequest");
    steps_call(self, 14, "t");
    DID("");
    steps_answer(self, TOOLS_ANSWER, steps_waiting(self), "1");
    (void) deeds_take();
    steps_call(self, 15, "t");
    DID("LIMIT tool_calls; audit limit refused by kernel; kernel CALLED; "
        "audit tool_call limit by gateway");
}

/* Returns true if the audit log has a record of a refused call. */
static bool notes_refused_call(session_t *self, int number)
{
    (void) deeds_take();
    steps_call(self, number, "t");
    return strstr(deeds_take(), "audit tool_call limit by gateway");
}

static void refused_calls_do_not_fill_the_audit_log(void **state)
{
    session_t *self = *state;
    int noted = 0;

    steps_ready(self);
    steps_call(self, 1, "t");
    steps_call(self, 2, "t");
    for (int i = 0; i < 50; i++)
        noted += notes_refused_call(self, 10 + i);
    assert_int_equal(noted, 20);
    fake_outside.now_ms += 500;
    assert_true(notes_refused_call(self, 90));
    HAS("\"count\":31,", "tool_call");
    HAS("\"count\":31,", "limit");
}

static void the_profile_decides(void **state)
{
    static char exact[] = "t", beginning[] = "web.*";
    static char *allowed[] = {exact, beginning, NULL};
    session_t *self = *state;

    fake_session_profile.tools = allowed;
    steps_offer(self, "[{\"name\":\"t\"},{\"name\":\"web.get\"}]");
    DID("audit tools registered by token=1; kernel TOOLS; ANSWERED 1 ok");
    steps_offer(self, "[{\"name\":\"tt\"}]");
    DID("audit tools refused by token=1; ANSWERED 1 error NotPermitted");
    HAS("profile/python/tools/allow", "sentence");
    fake_session_profile.gives_tools = 0;
    steps_offer(self, "[]");
    DID("audit tools refused by token=1; ANSWERED 1 error NotPermitted");
    HAS("profile/python/tools/enabled", "sentence");
    steps_run(self);
    steps_call(self, 11, "t");
    DID("kernel CALLED; audit tool_call off by gateway");
}

static void a_session_calls_only_what_it_was_given(void **state)
{
    session_t *self = *state;

    self->spec->asked.tools = mem_text("t, web.*");
    steps_offer(self, "[{\"name\":\"t\"},{\"name\":\"rm\"}]");
    HAS("\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}", "TOOLS");
    HAS("\"type\":\"object\"},\"permitted\":false}", "TOOLS");
    steps_run(self);
    steps_take(self, 5, 0);
    steps_call(self, 11, "rm");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
    HAS("\"reason\":\"not_permitted\"", "CALLED");
    HAS("it may call: t, web.*", "CALLED");
    steps_call(self, 12, "unheard-of");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
    steps_call(self, 13, "t");
    DID("ANSWERED 5 ok");
}

static void a_session_may_have_no_tools(void **state)
{
    session_t *self = *state;

    self->spec->asked.tools = mem_text("");
    steps_ready(self);
    steps_call(self, 11, "t");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
    HAS("may call no host tool", "CALLED");
}

/* Checks a session of the next gateway, whose profile permits less. */
static void a_narrower_profile_counts_for_each_call(void **state)
{
    static char other[] = "other", web[] = "web.*";
    static char *allowed[] = {other, web, NULL};
    session_t *self = *state;

    self->spec->asked.tools = mem_text("t");
    steps_ready(self);
    fake_session_profile.tools = allowed;
    steps_call(self, 11, "t");
    DID("kernel CALLED; audit tool_call not_permitted by gateway");
}

static void a_long_list_is_cut_between_names(void **state)
{
    static const char one[] = "tool-of-twenty-bytes, ";
    session_t *self = *state;
    cleanup_buffer buffer_t list = BUFFER_EMPTY;

    for (int i = 0; i < 100; i++)
        buffer_text(&list, one);
    buffer_text(&list, "last");
    buffer_append(&list, "", 1);
    self->spec->asked.tools = mem_text((const char *) list.data);
    steps_ready(self);
    steps_call(self, 11, "t");
    HAS("tool-of-twenty-bytes, and more\"", "CALLED");
    assert_true(strlen(deeds_content("CALLED")) < 1200);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, steps_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(limits_are_errors),
        TEST(refused_calls_do_not_fill_the_audit_log),
        TEST(the_profile_decides),
        TEST(a_session_calls_only_what_it_was_given),
        TEST(a_session_may_have_no_tools),
        TEST(a_narrower_profile_counts_for_each_call),
        TEST(a_long_list_is_cut_between_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
