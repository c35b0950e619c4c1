/* Steps of tests about a session's host tools: what its kernel and the process
 * that answers do. */
#ifndef HEARTH_TESTS_LIB_HOST_TOOL_STEPS_H
#define HEARTH_TESTS_LIB_HOST_TOOL_STEPS_H

#include "gateway/session/actor/control.h"
#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_calls.h"
#include "protocol/jspan.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

/* What a kernel says that calls host tools. */
static const char steps_welcome[] =
    "{\"protocol\":1,\"last\":0,\"tools\":true}";

/* Has the kernel say what it can do. */
static inline void steps_greet(session_t *self, const char *content)
{
    jspan_t value;
    fault_t fault;

    assert_int_equal(jspan_check(content, strlen(content), &value, &fault), 0);
    host_tools_greet(self, value);
}

/* Makes a session whose kernel calls host tools; a setup of cmocka's. */
static inline int steps_begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    steps_greet(*state, steps_welcome);
    (void) deeds_take();
    return 0;
}

/* Returns a request of the process `agent`, for control_take. */
static inline session_command_t *steps_order(session_tools_kind_t kind,
                                             uint64_t token)
{
    session_command_t *made = session_command_new(SESSION_TOOLS, token);

    made->tools.kind = kind;
    made->tools.who = mem_text("token=1");
    made->tools.provider = mem_text("agent");
    made->tools.place = mem_text("x");
    return made;
}

/* Has the process offer these tools: a JSON array. */
static inline void steps_offer(session_t *self, const char *tools)
{
    session_command_t *made = steps_order(TOOLS_REGISTER, 1);

    made->tools.text = mem_text(tools);
    control_take(self, &made);
}

/* Has the process wait for calls after that one. */
static inline void steps_take(session_t *self, uint64_t token, uint64_t after)
{
    session_command_t *made = steps_order(TOOLS_TAKE, token);

    made->tools.number = after;
    made->tools.wait_ms = 30000;
    control_take(self, &made);
}

/* Has the process leave its place. */
static inline void steps_leave(session_t *self, bool is_over)
{
    session_command_t *made = steps_order(TOOLS_LEAVE, 2);

    made->tools.is_over = is_over;
    control_take(self, &made);
}

/* Has the process answer a call, with TOOLS_ANSWER or TOOLS_FAIL. */
static inline void steps_answer(session_t *self, session_tools_kind_t kind,
                                uint64_t call, const char *text)
{
    session_command_t *made = steps_order(kind, 3);

    made->tools.number = call;
    made->tools.text = mem_text(text);
    control_take(self, &made);
}

/* Has a cell run. */
static inline void steps_run(session_t *self)
{
    fake_client_sends(CHANNEL_SHELL, "cell", "execute_request",
                      "{\"code\":\"1\"}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
}

/* Has the cell call a tool. */
static inline void steps_call(session_t *self, int number, const char *tool)
{
    cleanup_free char *content = mem_format(
        "{\"call\":%d,\"name\":\"%s\",\"arguments\":{\"q\":1}}", number, tool);

    fake_kernel_says(FRAME_CALL, fake_running(self), content);
    kernel_events_read(self);
}

/* Returns the number of the call that waits first. */
static inline uint64_t steps_waiting(const session_t *self)
{
    const tool_call_t *first = tool_calls_first(self->tools.calls);

    return first ? first->id : 0;
}

/* Has the process offer the tool `t`, and a cell run. */
static inline void steps_ready(session_t *self)
{
    steps_offer(self, "[{\"name\":\"t\"}]");
    steps_run(self);
}

#endif
