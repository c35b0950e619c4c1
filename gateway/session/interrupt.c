/* See interrupt.h. */
#include "gateway/session/interrupt.h"

#include "base/buffer.h"

typedef enum {
    STEP_NONE,
    STEP_FIRST,  /* the first signal was sent */
    STEP_SECOND, /* and the second one */
    STEP_KILL,
} step_t;

struct interrupt {
    int64_t grace_ms;
    step_t step;
    uint64_t mark;     /* not returned yet; 0: none */
    uint64_t received; /* bytes of the link at the last check */
    int64_t since;     /* monotonic ms; of the first signal */
    bool has_yielded;  /* the grace was extended */
    bool kills;        /* the last step is permitted */
    uint64_t token;    /* of the request that waits for the outcome; 0: none */
    cell_limit_t limit;
};

static const interrupt_verdict_t nothing = {INTERRUPT_NOTHING, 0};

interrupt_t *interrupt_new(int64_t grace_ms)
{
    interrupt_t *self = mem_new(sizeof *self);

    self->grace_ms = grace_ms;
    return self;
}

void interrupt_destroy(interrupt_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

interrupt_verdict_t interrupt_start(interrupt_t *self, bool kills, int64_t now)
{
    self->kills |= kills;
    if (self->step != STEP_NONE)
        return (interrupt_verdict_t){INTERRUPT_SIGNAL, 0};
    self->step = STEP_FIRST;
    self->since = now;
    return (interrupt_verdict_t){INTERRUPT_SIGNAL, self->grace_ms};
}

interrupt_verdict_t interrupt_start_for_limit(interrupt_t *self,
                                              cell_limit_t limit, int64_t now)
{
    self->limit = limit;
    return interrupt_start(self, true, now);
}

void interrupt_note_signal(interrupt_t *self, uint64_t mark, uint64_t received)
{
    self->mark = mark;
    self->received = received;
}

interrupt_verdict_t interrupt_on_mark(interrupt_t *self, uint64_t number)
{
    if (self->step == STEP_NONE || number != self->mark)
        return nothing;
    self->mark = 0;
    if (self->has_yielded)
        return nothing;
    return (interrupt_verdict_t){INTERRUPT_NOTHING, self->grace_ms};
}

interrupt_verdict_t interrupt_on_yield(interrupt_t *self)
{
    int64_t wait_ms = self->grace_ms;

    if (self->step == STEP_NONE || self->has_yielded)
        return nothing;
    self->has_yielded = true;
    if (wait_ms < INTERRUPT_YIELDED_MS)
        wait_ms = INTERRUPT_YIELDED_MS;
    return (interrupt_verdict_t){INTERRUPT_NOTHING, wait_ms};
}

/* Returns true while output from before the signal is still being read. */
static bool is_behind(interrupt_t *self, uint64_t received, int64_t now)
{
    bool is_moving = received - self->received >= INTERRUPT_MOVED_MIN;

    self->received = received;
    return self->mark && is_moving && now - self->since < INTERRUPT_BEHIND_MS;
}

interrupt_verdict_t interrupt_on_timer(interrupt_t *self, uint64_t received,
                                       int64_t now)
{
    if (self->step == STEP_NONE || self->step == STEP_KILL)
        return nothing;
    if (is_behind(self, received, now))
        return (interrupt_verdict_t){INTERRUPT_NOTHING, self->grace_ms};
    if (self->step == STEP_FIRST) {
        self->step = STEP_SECOND;
        return (interrupt_verdict_t){INTERRUPT_SIGNAL, self->grace_ms};
    }
    if (!self->kills)
        return (interrupt_verdict_t){INTERRUPT_DONE, 0};
    self->step = STEP_KILL;
    return (interrupt_verdict_t){INTERRUPT_KILL, 0};
}

void interrupt_end(interrupt_t *self)
{
    *self =
        (struct interrupt){.grace_ms = self->grace_ms, .token = self->token};
}

void interrupt_await(interrupt_t *self, uint64_t token)
{
    self->token = token;
}

uint64_t interrupt_take_token(interrupt_t *self)
{
    uint64_t token = self->token;

    self->token = 0;
    return token;
}

bool interrupt_is_on(const interrupt_t *self)
{
    return self->step != STEP_NONE;
}

cell_limit_t interrupt_limit(const interrupt_t *self)
{
    return self->limit;
}
