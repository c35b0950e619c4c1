/* How much a cell and a session may say. What is said is counted when it is
 * journaled; beyond its allowance the kernel is ended, and the
 * reason tells the figures. Before that it has been held back by whoever
 * takes the output (backpressure.c). */
#include "gateway/session/internal.h"

#include <inttypes.h>

static void end(self_t *self, const char *who, uint64_t said, uint64_t limit,
                const char *unit, const char *key)
{
    ending_begin(self, LIFE_REASON_OUTPUT,
                 "%s gave %" PRIu64 " %s of output while running cell %" PRId64
                 ", %" PRIu64 " are the most (limits/%s of %s %s)",
                 who, said, unit, self->next_count, limit, key,
                 self->spec->limits_asked ? "session" : "profile",
                 self->spec->limits_asked ? self->spec->id
                                          : self->spec->profile->name);
}

static bool is_over(uint64_t said, uint64_t limit)
{
    return limit && said > limit;
}

void allowance_begin_cell(self_t *self)
{
    self->said.cell_bytes = self->said.cell_messages = 0;
}

void allowance_count(self_t *self, uint64_t bytes)
{
    const profile_limits_t *limits = &self->spec->limits;
    said_t *said = &self->said;

    said->cell_messages++;
    said->cell_bytes += bytes;
    said->session_bytes += bytes;
    said->session_messages++;
    if (self->reason != LIFE_REASON_NONE)
        return;
    if (is_over(said->cell_bytes, limits->cell_output))
        end(self, "the cell", said->cell_bytes, limits->cell_output, "bytes",
            "cell_output");
    else if (is_over(said->cell_messages, limits->cell_messages))
        end(self, "the cell", said->cell_messages, limits->cell_messages,
            "messages", "cell_messages");
    else if (is_over(said->session_bytes, limits->session_output))
        end(self, "the session", said->session_bytes, limits->session_output,
            "bytes", "session_output");
    else if (is_over(said->session_messages, limits->session_messages))
        end(self, "the session", said->session_messages,
            limits->session_messages, "messages", "session_messages");
}
