/* See session_steps.h. */
#include "tests/lib/session_steps.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/actor/recovery.h"
#include "gateway/session/actor/termination.h"
#include "tests/lib/test.h"

int fake_session_begin_recorded(void **state)
{
    if (fake_session_begin_ready(state) < 0)
        return -1;
    fake_session_note(*state, "launch", 0, "{\"profile\":\"python\"}");
    fake_session_note(*state, "ready", 1, "{\"status\":\"ok\"}");
    return 0;
}

void fake_session_request(session_t *self, const char *id, const char *type)
{
    fake_client_sends(CHANNEL_SHELL, id, type,
                      "{\"code\":\"1\",\"cursor_pos\":0}");
    receive_on_shell(NULL, NULL, self);
}

void fake_session_reply(session_t *self)
{
    fake_kernel_replies(fake_running(self), "{\"status\":\"ok\"}",
                        "{\"hearth\":{\"next_count\":5}}");
    kernel_events_read(self);
    (void) deeds_take();
}

void fake_session_take_over(session_t *self)
{
    fault_t fault;

    fake_session_adopt(self);
    assert_int_equal(recovery_read(self, &fault), 0);
}

void fake_session_run(session_t *self)
{
    fake_client_sends(CHANNEL_SHELL, "cell", "execute_request",
                      "{\"code\":\"1\"}");
    receive_on_shell(NULL, NULL, self);
    (void) deeds_take();
}

void fake_session_die(session_t *self, int code)
{
    fake_outside.end =
        (kernel_end_t){.is_known = true, .by_signal = true, .code = code};
    termination_finish(self);
}
