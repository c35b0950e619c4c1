/* The table of a session's life. Pure data; owned by nobody. */
#include "gateway/session/state.h"

#include <assert.h>

#define NEVER LIFE_STATE_COUNT

static const char *const state_names[] = {
#define X(name, text) [LIFE_##name] = text,
    LIFE_STATES(X)
#undef X
};

static const char *const reason_names[] = {
#define X(name, text) [LIFE_REASON_##name] = text,
    LIFE_REASONS(X)
#undef X
};

/* clang-format off */
static const life_t next[LIFE_STATE_COUNT][LIFE_EVENT_COUNT] = {
    /*                 READY      BEGIN      END        STOP           EXIT       RELAUNCH */
    [LIFE_STARTING] = {LIFE_IDLE, NEVER,     NEVER,     LIFE_STOPPING, LIFE_GONE, LIFE_STARTING},
    [LIFE_IDLE]     = {NEVER,     LIFE_BUSY, NEVER,     LIFE_STOPPING, LIFE_GONE, LIFE_STARTING},
    [LIFE_BUSY]     = {NEVER,     NEVER,     LIFE_IDLE, LIFE_STOPPING, LIFE_GONE, LIFE_STARTING},
    [LIFE_STOPPING] = {NEVER,     NEVER,     LIFE_STOPPING, LIFE_STOPPING, LIFE_GONE, LIFE_STARTING},
    [LIFE_GONE]     = {NEVER,     NEVER,     NEVER,     NEVER,         NEVER,     LIFE_STARTING},
};
/* clang-format on */

const char *life_name(life_t state)
{
    assert(state < LIFE_STATE_COUNT);
    return state_names[state];
}

bool life_is_at_work(life_t state)
{
    return state == LIFE_IDLE || state == LIFE_BUSY;
}

const char *life_reason_name(life_reason_t reason)
{
    assert(reason < LIFE_REASON_COUNT);
    return reason_names[reason];
}

bool life_step(life_t *state, life_event_t event)
{
    assert(*state < LIFE_STATE_COUNT && event < LIFE_EVENT_COUNT);
    if (next[*state][event] == NEVER)
        return false;
    *state = next[*state][event];
    return true;
}
