/* See state.h. */
#include "gateway/session/lifecycle/state.h"

#include "base/buffer.h"

#include <assert.h>

/* The parts of a state; each has one value. */
typedef enum {
    PHASE,
    SEQUEL,
    LAUNCH,
    LINK,
    SUBSCRIBERS,
    SERVICE,
    REGION_COUNT
} region_t;

struct session_state {
    unsigned values[REGION_COUNT];
};

static const char *const names[] = {
#define X(name, text) [PHASE_##name] = text,
    SESSION_PHASES(X)
#undef X
};

#define IN(value) (1u << (value))
#define ANY       (~0u)
#define AT_WORK   (IN(PHASE_IDLE) | IN(PHASE_BUSY))
#define ALIVE     (IN(PHASE_STARTING) | AT_WORK | IN(PHASE_STOPPING))

/* The effect of an event on a region that has one of the values `from`. */
typedef struct {
    session_event_t event;
    region_t region;
    unsigned from; /* IN(value) | ... */
    unsigned to;
} transition_t;

static const transition_t transitions[] = {
    {STATE_ON_READY, PHASE, IN(PHASE_STARTING), PHASE_IDLE},
    {STATE_ON_BEGIN, PHASE, IN(PHASE_IDLE), PHASE_BUSY},
    {STATE_ON_END, PHASE, IN(PHASE_BUSY), PHASE_IDLE},
    {STATE_ON_STOP, PHASE, IN(PHASE_STARTING) | AT_WORK, PHASE_STOPPING},
    {STATE_ON_EXIT, PHASE, ALIVE, PHASE_GONE},
    {STATE_ON_RELAUNCH, PHASE, ANY, PHASE_STARTING},
    {STATE_ON_ADOPT, PHASE, IN(PHASE_STARTING), PHASE_IDLE},
    {STATE_ON_FIND_GONE, PHASE, IN(PHASE_STARTING), PHASE_GONE},

    {STATE_ON_WANT_RESTART, SEQUEL, ANY, SEQUEL_RESTART},
    {STATE_ON_WANT_END, SEQUEL,
     IN(SEQUEL_BY_PROFILE) | IN(SEQUEL_RESTART) | IN(SEQUEL_NONE), SEQUEL_NONE},
    {STATE_ON_WANT_END, SEQUEL, IN(SEQUEL_REPEAT), SEQUEL_CANCELLED},
    {STATE_ON_WANT_NOTHING, SEQUEL, ANY, SEQUEL_BY_PROFILE},
    {STATE_ON_REPEAT, SEQUEL, IN(SEQUEL_BY_PROFILE), SEQUEL_REPEAT},
    {STATE_ON_REPEAT, SEQUEL, IN(SEQUEL_NONE), SEQUEL_CANCELLED},
    {STATE_ON_GIVE_UP, SEQUEL, IN(SEQUEL_REPEAT), SEQUEL_BY_PROFILE},
    {STATE_ON_GIVE_UP, SEQUEL, IN(SEQUEL_CANCELLED), SEQUEL_NONE},
    {STATE_ON_BURY, SEQUEL, IN(SEQUEL_CANCELLED), SEQUEL_NONE},
    {STATE_ON_RELAUNCH, SEQUEL, ANY, SEQUEL_BY_PROFILE},

    {STATE_ON_LAUNCH, LAUNCH, ANY, LAUNCH_ASKED},
    {STATE_ON_FORKED, LAUNCH, IN(LAUNCH_ASKED), LAUNCH_FORKED},
    {STATE_ON_LAUNCH_FAILED, LAUNCH, IN(LAUNCH_ASKED), LAUNCH_NONE},
    {STATE_ON_CHECKED, LAUNCH, IN(LAUNCH_FORKED), LAUNCH_CHECKED},

    {STATE_ON_HELLO, LINK, ANY, LINK_GREETING},
    {STATE_ON_WELCOME, LINK, IN(LINK_GREETING), LINK_UP},
    {STATE_ON_LINK_CLOSED, LINK, IN(LINK_GREETING) | IN(LINK_UP), LINK_DOWN},
    {STATE_ON_STUCK, LINK, ANY, LINK_STUCK},
    {STATE_ON_UNSTUCK, LINK, IN(LINK_STUCK), LINK_DOWN},
    {STATE_ON_RELAUNCH, LINK, ANY, LINK_DOWN},

    {STATE_ON_HOLD, SUBSCRIBERS, IN(SUBSCRIBERS_OPEN), SUBSCRIBERS_HELD},
    {STATE_ON_END_HELD, SUBSCRIBERS, IN(SUBSCRIBERS_HELD),
     SUBSCRIBERS_HELD_ENDED},
    {STATE_ON_RELEASE, SUBSCRIBERS, ANY, SUBSCRIBERS_OPEN},

    {STATE_ON_DRAIN, SERVICE, IN(SERVICE_FULL), SERVICE_DRAINING},
    {STATE_ON_BREAK, SERVICE, ANY, SERVICE_BROKEN},
};

session_state_t *session_state_new(void)
{
    return mem_new(sizeof(session_state_t));
}

void session_state_destroy(session_state_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

bool session_state_step(session_state_t *self, session_event_t event)
{
    const session_state_t before = *self;
    bool has_moved = false;

    assert(event < STATE_EVENT_COUNT);
    for (size_t i = 0; i < sizeof transitions / sizeof *transitions; i++) {
        const transition_t *at = &transitions[i];

        if (at->event != event || !(at->from & IN(before.values[at->region])))
            continue;
        has_moved |= before.values[at->region] != at->to;
        self->values[at->region] = at->to;
    }
    return has_moved;
}

session_phase_t session_state_phase(const session_state_t *self)
{
    return (session_phase_t) self->values[PHASE];
}

session_sequel_t session_state_sequel(const session_state_t *self)
{
    return (session_sequel_t) self->values[SEQUEL];
}

session_launch_t session_state_launch(const session_state_t *self)
{
    return (session_launch_t) self->values[LAUNCH];
}

session_link_t session_state_link(const session_state_t *self)
{
    return (session_link_t) self->values[LINK];
}

session_subscribers_t session_state_subscribers(const session_state_t *self)
{
    return (session_subscribers_t) self->values[SUBSCRIBERS];
}

session_service_t session_state_service(const session_state_t *self)
{
    return (session_service_t) self->values[SERVICE];
}

bool session_state_is(const session_state_t *self, session_phase_t phase)
{
    return self->values[PHASE] == phase;
}

bool session_state_is_at_work(const session_state_t *self)
{
    return AT_WORK & IN(self->values[PHASE]);
}

bool session_state_is_greeted(const session_state_t *self)
{
    return self->values[LINK] == LINK_UP;
}

bool session_state_is_held(const session_state_t *self)
{
    return self->values[SUBSCRIBERS] != SUBSCRIBERS_OPEN;
}

bool session_state_awaits_answer(const session_state_t *self)
{
    return self->values[LAUNCH] == LAUNCH_ASKED
           && (self->values[SEQUEL] == SEQUEL_REPEAT
               || self->values[SEQUEL] == SEQUEL_CANCELLED);
}

const char *session_phase_name(session_phase_t phase)
{
    assert(phase < PHASE_COUNT);
    return names[phase];
}
