/* See backpressure.h. */
#include "gateway/session/limits/backpressure.h"

#include "base/buffer.h"
#include "base/memory_budget.h"

/* Peers of one kind. */
typedef struct {
    bool is_holding;
    int64_t since;  /* monotonic ms; of the last progress */
    int64_t cut_at; /* monotonic ms; of the last disconnect, 0: none */
} side_t;

struct backpressure {
    uint64_t max_bytes;
    int64_t patience_ms;
    side_t outputs, replies;
    unsigned owed;   /* subscribers that have missed something */
    bool is_ignored; /* the output of an ended kernel is read to its end */
};

backpressure_t *backpressure_new(uint64_t max_bytes, int64_t patience_ms)
{
    backpressure_t *self = mem_new(sizeof *self);

    self->max_bytes = max_bytes;
    self->patience_ms = patience_ms;
    return self;
}

void backpressure_destroy(backpressure_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static bool is_open(const backpressure_load_t *load, uint64_t most)
{
    return load->is_permitted
           && (load->has_to_be_heard
               || (load->outputs <= most && load->replies <= most));
}

static void hold(side_t *side, int64_t now)
{
    if (!side->is_holding)
        side->since = now;
    side->is_holding = true;
}

/* Returns true if the peers were waited for long enough. */
static bool is_overdue(const backpressure_t *self, const side_t *side,
                       int64_t now)
{
    bool is_again = side->cut_at && now - side->cut_at < BACKPRESSURE_AGAIN_MS;
    int64_t most = is_again ? self->patience_ms / 8 : self->patience_ms;

    return now - side->since >= most;
}

static void cut(side_t *side, int64_t now)
{
    side->cut_at = side->since = now;
}

backpressure_verdict_t backpressure_check(backpressure_t *self,
                                          const backpressure_load_t *load,
                                          int64_t now)
{
    if (self->is_ignored || is_open(load, self->max_bytes))
        return BACKPRESSURE_READ;
    hold(&self->outputs, now);
    return BACKPRESSURE_HOLD;
}

/* Disconnects peers after too long a time without progress. */
static backpressure_verdict_t
relieve(backpressure_t *self, const backpressure_load_t *load, int64_t now)
{
    uint64_t most =
        load->is_permitted ? BACKPRESSURE_RESUME(self->max_bytes) : MEMORY_FREE;

    self->outputs.since = now;
    if (load->outputs > most) {
        cut(&self->outputs, now);
        return BACKPRESSURE_CUT_SUBSCRIBERS;
    }
    if (load->replies > most) {
        cut(&self->replies, now);
        return BACKPRESSURE_CUT_CLIENTS;
    }
    return load->is_permitted ? BACKPRESSURE_HOLD : BACKPRESSURE_CUT_KERNEL;
}

backpressure_verdict_t backpressure_look(backpressure_t *self,
                                         const backpressure_load_t *load,
                                         int64_t now)
{
    if (is_open(load, BACKPRESSURE_RESUME(self->max_bytes))) {
        self->outputs.is_holding = false;
        return BACKPRESSURE_READ;
    }
    return is_overdue(self, &self->outputs, now) ? relieve(self, load, now)
                                                 : BACKPRESSURE_HOLD;
}

void backpressure_end(backpressure_t *self)
{
    self->outputs.is_holding = false;
}

bool backpressure_is_holding(const backpressure_t *self)
{
    return self->outputs.is_holding;
}

int64_t backpressure_since(const backpressure_t *self)
{
    return self->outputs.since;
}

void backpressure_ignore(backpressure_t *self, bool is_ignored)
{
    self->is_ignored = is_ignored;
}

void backpressure_owe(backpressure_t *self, unsigned subscribers)
{
    self->owed += subscribers;
}

bool backpressure_give(backpressure_t *self)
{
    if (!self->owed)
        return false;
    self->owed--;
    return true;
}

backpressure_verdict_t backpressure_check_replies(backpressure_t *self,
                                                  size_t replies, int64_t now)
{
    if (!self->replies.is_holding && replies <= self->max_bytes)
        return BACKPRESSURE_READ;
    hold(&self->replies, now);
    return BACKPRESSURE_HOLD;
}

backpressure_verdict_t backpressure_look_replies(backpressure_t *self,
                                                 size_t replies, int64_t now)
{
    if (replies <= BACKPRESSURE_RESUME(self->max_bytes)) {
        self->replies.is_holding = false;
        return BACKPRESSURE_READ;
    }
    if (!is_overdue(self, &self->replies, now))
        return BACKPRESSURE_HOLD;
    cut(&self->replies, now);
    return BACKPRESSURE_CUT_CLIENTS;
}

int64_t backpressure_replies_since(const backpressure_t *self)
{
    return self->replies.since;
}
