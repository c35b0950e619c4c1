/* See interrupt.h. */
#include "gateway/session/kernel/interrupt.h"

#include "base/buffer.h"

typedef enum {
    STEP_NONE,
    STEP_FIRST,  /* the first signal was sent */
    STEP_SECOND, /* the second signal was sent: Python code did not get the
                    first */
    STEP_KILL,
} signal_step_t;

/* The fate of the signals. */
typedef enum {
    SIGNAL_SENT,   /* that is not known */
    SIGNAL_MISSED, /* the last one met no code: another one is due */
    SIGNAL_TAKEN,  /* Python code has got one */
    SIGNAL_ENDED,  /* the cell's own code has ended; the grace was extended */
} fate_t;

struct interrupt {
    int64_t grace_ms;
    bool reports; /* the kernel sends STRUCK */
    signal_step_t step;
    fate_t fate;
    uint64_t mark;     /* not returned yet; 0: none */
    uint64_t received; /* bytes of the link at the last check */
    int64_t since;     /* monotonic ms; of the first signal */
    int64_t due;       /* monotonic ms; when the grace is over */
    int64_t asked;     /* monotonic ms; when the client began to wait */
    bool awaits_mark;  /* the mark of the next signal is not known yet */
    bool is_deaf;      /* STRUCK cannot arrive, because there is no link */
    bool kills;        /* the last step is permitted */
    bool is_patient;   /* that request waits until the end */
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

void interrupt_set_reports(interrupt_t *self, bool reports)
{
    self->reports = reports;
}

/* Returns an action, and when to look again. */
static interrupt_verdict_t act(const interrupt_t *self,
                               interrupt_action_t action, int64_t now)
{
    int64_t wait_ms = self->due - now;

    if (wait_ms > INTERRUPT_ANSWER_MS)
        wait_ms = INTERRUPT_ANSWER_MS;
    if (self->fate == SIGNAL_MISSED && wait_ms > INTERRUPT_RETRY_MS)
        wait_ms = INTERRUPT_RETRY_MS;
    return (interrupt_verdict_t){action, wait_ms > 0 ? wait_ms : 1};
}

/* Begins the grace. A client that waits gets its answer before a short grace is
 * over, unless the kernel may be ended then. */
static interrupt_verdict_t begin_grace(interrupt_t *self,
                                       interrupt_action_t action, int64_t now)
{
    int64_t grace_ms = self->grace_ms;

    if (!self->kills && grace_ms < INTERRUPT_ANSWER_MS)
        grace_ms = INTERRUPT_ANSWER_MS;
    self->due = now + grace_ms;
    return act(self, action, now);
}

static interrupt_verdict_t begin_step(interrupt_t *self, signal_step_t step,
                                      int64_t now)
{
    self->step = step;
    self->awaits_mark = true;
    self->fate = SIGNAL_SENT;
    return begin_grace(self, INTERRUPT_SIGNAL, now);
}

interrupt_verdict_t interrupt_start(interrupt_t *self, bool kills, int64_t now)
{
    self->kills |= kills;
    self->asked = now;
    if (self->step != STEP_NONE)
        return act(self, INTERRUPT_SIGNAL, now);
    self->since = now;
    return begin_step(self, STEP_FIRST, now);
}

interrupt_verdict_t interrupt_start_for_limit(interrupt_t *self,
                                              cell_limit_t limit, int64_t now)
{
    bool is_first = self->limit == CELL_LIMIT_NONE;

    if (is_first)
        self->limit = limit;
    if (self->step == STEP_NONE)
        return interrupt_start(self, true, now);
    self->kills = true;
    return is_first && self->fate != SIGNAL_ENDED
               ? begin_grace(self, INTERRUPT_NOTHING, now)
               : act(self, INTERRUPT_NOTHING, now);
}

void interrupt_note_signal(interrupt_t *self, uint64_t mark, uint64_t received)
{
    if (!self->awaits_mark)
        return;
    self->awaits_mark = false;
    self->is_deaf = !mark;
    self->mark = mark;
    self->received = received;
}

interrupt_verdict_t interrupt_on_mark(interrupt_t *self, uint64_t number,
                                      int64_t now)
{
    if (self->step == STEP_NONE || number != self->mark)
        return nothing;
    self->mark = 0;
    if (self->fate == SIGNAL_ENDED)
        return nothing;
    self->asked = now;
    return begin_grace(self, INTERRUPT_NOTHING, now);
}

interrupt_verdict_t interrupt_on_strike(interrupt_t *self, bool is_taken,
                                        int64_t now)
{
    if (self->step == STEP_NONE || interrupt_is_handled(self))
        return nothing;
    self->fate = is_taken ? SIGNAL_TAKEN : SIGNAL_MISSED;
    return is_taken ? begin_grace(self, INTERRUPT_NOTHING, now)
                    : act(self, INTERRUPT_NOTHING, now);
}

interrupt_verdict_t interrupt_on_yield(interrupt_t *self, int64_t now)
{
    int64_t wait_ms = self->grace_ms;

    if (self->step == STEP_NONE || self->fate == SIGNAL_ENDED)
        return nothing;
    self->fate = SIGNAL_ENDED;
    if (wait_ms < INTERRUPT_YIELDED_MS)
        wait_ms = INTERRUPT_YIELDED_MS;
    self->due = now + wait_ms;
    return act(self, INTERRUPT_NOTHING, now);
}

/* Returns true while output from before the signal is still being read. */
static bool is_behind(interrupt_t *self, uint64_t received, int64_t now)
{
    bool is_moving = received - self->received >= INTERRUPT_MOVED_MIN;

    self->received = received;
    return self->mark && is_moving && now - self->since < INTERRUPT_BEHIND_MS;
}

/* Decides at the end of the grace. */
static interrupt_verdict_t take_step(interrupt_t *self, int64_t now)
{
    if (self->step == STEP_FIRST && interrupt_is_kept(self))
        return begin_step(self, STEP_SECOND, now);
    if (!self->kills)
        return (interrupt_verdict_t){INTERRUPT_DONE, 0};
    self->step = STEP_KILL;
    return (interrupt_verdict_t){INTERRUPT_KILL, 0};
}

/* Decides within the grace. */
static interrupt_verdict_t look(interrupt_t *self, int64_t now)
{
    if (self->fate == SIGNAL_MISSED) {
        self->fate = SIGNAL_SENT;
        return act(self, INTERRUPT_SIGNAL, now);
    }
    if (self->fate == SIGNAL_ENDED || now - self->asked < INTERRUPT_ANSWER_MS)
        return act(self, INTERRUPT_NOTHING, now);
    /* No verdict depends on what the kernel says from here on. */
    if (!self->kills && !interrupt_is_kept(self))
        return (interrupt_verdict_t){INTERRUPT_DONE, 0};
    return act(self,
               self->token && !self->is_patient ? INTERRUPT_ANSWER
                                                : INTERRUPT_NOTHING,
               now);
}

interrupt_verdict_t interrupt_on_timer(interrupt_t *self, uint64_t received,
                                       int64_t now)
{
    if (self->step == STEP_NONE || self->step == STEP_KILL)
        return nothing;
    if (is_behind(self, received, now)) {
        self->asked = now;
        return begin_grace(self, INTERRUPT_NOTHING, now);
    }
    return now < self->due ? look(self, now) : take_step(self, now);
}

void interrupt_end(interrupt_t *self)
{
    *self = (struct interrupt){
        .grace_ms = self->grace_ms,
        .reports = self->reports,
        .token = self->token,
        .is_patient = self->is_patient,
    };
}

void interrupt_await(interrupt_t *self, uint64_t token, bool kills)
{
    self->token = token;
    self->is_patient = kills;
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

bool interrupt_is_handled(const interrupt_t *self)
{
    return self->fate >= SIGNAL_TAKEN;
}

bool interrupt_is_kept(const interrupt_t *self)
{
    return self->reports && !self->is_deaf && !interrupt_is_handled(self);
}

cell_limit_t interrupt_limit(const interrupt_t *self)
{
    return self->limit;
}
