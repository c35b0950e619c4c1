/* See deletion.h. */
#include "gateway/session/core/deletion.h"

#include "gateway/config/state_files.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"

#include <jansson.h>

#define DELETION_MS 12000 /* longer than any end takes */

void deletion_await(session_t *self, uint64_t token)
{
    buffer_append(&self->unanswered.deletions, &token, sizeof token);
    timers_start_once(self->timers, TIMER_DELETION, DELETION_MS);
}

/* Takes the tokens, and calls `answer` for each. */
static void take_all(session_t *self,
                     void (*answer)(session_t *self, uint64_t token))
{
    const uint64_t *tokens =
        (const uint64_t *) (const void *) self->unanswered.deletions.data;
    size_t count = self->unanswered.deletions.size / sizeof *tokens;

    timers_stop(self->timers, TIMER_DELETION);
    for (size_t i = 0; i < count; i++)
        answer(self, tokens[i]);
    buffer_reset(&self->unanswered.deletions);
}

void deletion_answer(session_t *self)
{
    take_all(self, announce_session);
}

static void answer_late(session_t *self, uint64_t token)
{
    notify_answer(
        self->notify, token,
        json_pack("{s:s,s:s,s:o,s:i}", "status", "error", "ename",
                  "SessionNotEnded", "evalue",
                  json_sprintf("session %s has not ended within %d s; its end "
                               "goes on, and `hearth session show` reports it",
                               self->spec->id, DELETION_MS / 1000),
                  "exit_code", GATEWAY_EXIT_FAILED));
}

void deletion_on_timer(void *session)
{
    take_all(session, answer_late);
}
