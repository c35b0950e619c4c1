/* See timers.h. A stopped timer may still come out of the loop once: its number
 * identifies it. */
#include "gateway/session/lifecycle/timers.h"

#include "base/buffer.h"

typedef struct {
    timers_t *timers; /* that it belongs to; set when it is started */
    int id;           /* the loop's; 0: it does not run */
} timer_slot_t;

struct timers {
    zloop_t *loop;                     /* borrowed */
    timers_handler_t *const *handlers; /* borrowed; one for each name */
    void *arg;                         /* the handlers' */
    bool ends_loop;
    timer_slot_t slots[TIMER_COUNT];
};

timers_t *timers_new(zloop_t *loop,
                     timers_handler_t *const handlers[TIMER_COUNT], void *arg)
{
    timers_t *self = mem_new(sizeof *self);

    self->loop = loop;
    self->handlers = handlers;
    self->arg = arg;
    return self;
}

void timers_destroy(timers_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static int on_timer(zloop_t *loop, int id, void *arg)
{
    timer_slot_t *slot = arg;
    timers_t *self = slot->timers;

    (void) loop;
    if (slot->id != id)
        return 0;
    slot->id = 0;
    self->handlers[slot - self->slots](self->arg);
    return self->ends_loop ? -1 : 0;
}

void timers_stop(timers_t *self, timer_name_t name)
{
    timer_slot_t *slot = &self->slots[name];

    if (slot->id)
        zloop_timer_end(self->loop, slot->id);
    slot->id = 0;
}

void timers_start(timers_t *self, timer_name_t name, int64_t delay_ms)
{
    timer_slot_t *slot = &self->slots[name];

    timers_stop(self, name);
    if (delay_ms < 1)
        delay_ms = 1;
    slot->timers = self;
    slot->id = zloop_timer(self->loop, (size_t) delay_ms, 1, on_timer, slot);
}

void timers_start_once(timers_t *self, timer_name_t name, int64_t delay_ms)
{
    if (!self->slots[name].id)
        timers_start(self, name, delay_ms);
}

bool timers_is_running(const timers_t *self, timer_name_t name)
{
    return self->slots[name].id != 0;
}

void timers_end_loop(timers_t *self)
{
    self->ends_loop = true;
}
