/* The state of a session: STARTING -> IDLE <-> BUSY -> STOPPING -> GONE. Beside
 * that, the states of its launch, its link, its clients, and the sequel of its
 * kernel's end. One table of events decides; nothing else sets a state.
 * Pure. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_STATE_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_STATE_H

#include "base/cleanup.h"

#include <stdbool.h>

#define SESSION_PHASES(X)                                                      \
    X(STARTING, "starting") /* a kernel is being launched */                   \
    X(IDLE, "idle")         /* waits for a request */                          \
    X(BUSY, "busy")         /* a request runs */                               \
    X(STOPPING, "stopping") /* the kernel is being ended */                    \
    X(GONE, "gone")         /* no kernel any more; a tombstone answers */

typedef enum {
#define X(name, text) PHASE_##name,
    SESSION_PHASES(X)
#undef X
    PHASE_COUNT
} session_phase_t;

/* The sequel of the kernel's end. */
typedef enum {
    SEQUEL_BY_PROFILE, /* a fresh kernel, if the profile restarts */
    SEQUEL_RESTART,    /* a fresh kernel: a restart was asked for */
    SEQUEL_NONE,       /* no kernel: the end was asked for */
    SEQUEL_REPEAT,     /* the launch once more, as if it had not failed */
    SEQUEL_CANCELLED,  /* no kernel; the failed launch has no answer yet */
} session_sequel_t;

/* The progress of the kernel's launch. */
typedef enum {
    LAUNCH_NONE,
    LAUNCH_ASKED,   /* no process yet, and no failure */
    LAUNCH_FORKED,  /* its process is known */
    LAUNCH_CHECKED, /* and its sandbox was checked */
} session_launch_t;

/* The connection to the kernel. */
typedef enum {
    LINK_DOWN,
    LINK_GREETING, /* the kernel has not answered the greeting */
    LINK_UP,
    LINK_STUCK, /* cut, since the journal cannot be written */
} session_link_t;

/* Clients' requests: taken, or held until subscribers are back. */
typedef enum {
    SUBSCRIBERS_OPEN,
    SUBSCRIBERS_HELD,       /* after a take-over: until subscribers are back */
    SUBSCRIBERS_HELD_ENDED, /* the same; the kernel has ended meanwhile */
} session_subscribers_t;

/* The purpose of the session. */
typedef enum {
    SERVICE_FULL,
    SERVICE_DRAINING, /* takes requests, hands none to the kernel */
    SERVICE_BROKEN,   /* could not begin; waits for its end */
} session_service_t;

typedef enum {
    STATE_ON_READY,         /* the kernel has sent READY */
    STATE_ON_BEGIN,         /* a request was handed to the kernel */
    STATE_ON_END,           /* the kernel answered it */
    STATE_ON_STOP,          /* the end of the kernel is wanted */
    STATE_ON_EXIT,          /* the kernel has ended */
    STATE_ON_BURY,          /* and no other kernel follows */
    STATE_ON_RELAUNCH,      /* a fresh kernel takes the place of the old one */
    STATE_ON_ADOPT,         /* a kernel of another gateway was ready */
    STATE_ON_FIND_GONE,     /* another gateway has left a tombstone */
    STATE_ON_WANT_RESTART,  /* a restart was asked for */
    STATE_ON_WANT_END,      /* an end was asked for */
    STATE_ON_WANT_NOTHING,  /* the request is done, or was not meant */
    STATE_ON_REPEAT,        /* the launch failed for a passing cause */
    STATE_ON_GIVE_UP,       /* the answer to the failed launch does not come */
    STATE_ON_LAUNCH,        /* a launch was asked for */
    STATE_ON_FORKED,        /* the launch made a process */
    STATE_ON_LAUNCH_FAILED, /* the launch made no process */
    STATE_ON_CHECKED,       /* the sandbox is as it must be */
    STATE_ON_HELLO,         /* the kernel was greeted */
    STATE_ON_WELCOME,       /* it has answered */
    STATE_ON_LINK_CLOSED,   /* the link was closed */
    STATE_ON_STUCK,         /* the journal cannot be written */
    STATE_ON_UNSTUCK,       /* the journal can be written again */
    STATE_ON_HOLD,          /* requests have to wait for subscribers */
    STATE_ON_END_HELD,      /* the end of the kernel has to wait for them,
                               too */
    STATE_ON_RELEASE,       /* they need not wait any more */
    STATE_ON_DRAIN,         /* the gateway stops and keeps the kernel */
    STATE_ON_BREAK,         /* the session could not begin */
    STATE_EVENT_COUNT
} session_event_t;

typedef struct session_state session_state_t;

/* Returns the state of a session whose kernel is being launched. */
session_state_t *session_state_new(void);
void session_state_destroy(session_state_t **self_p);
#define cleanup_session_state CLEANUP(session_state_destroy)

/* Applies an event. Returns true if something has changed; false, and nothing
 * has, if the event cannot happen or changes nothing. */
bool session_state_step(session_state_t *self, session_event_t event);

session_phase_t session_state_phase(const session_state_t *self);
session_sequel_t session_state_sequel(const session_state_t *self);
session_launch_t session_state_launch(const session_state_t *self);
session_link_t session_state_link(const session_state_t *self);
session_subscribers_t session_state_subscribers(const session_state_t *self);
session_service_t session_state_service(const session_state_t *self);

/* Returns true if the session is in that phase. */
bool session_state_is(const session_state_t *self, session_phase_t phase);
/* Returns true if it is idle or busy: it has a kernel that works. */
bool session_state_is_at_work(const session_state_t *self);
/* Returns true if the kernel has answered the greeting. */
bool session_state_is_greeted(const session_state_t *self);
/* Returns true if clients' requests wait for subscribers. */
bool session_state_is_held(const session_state_t *self);
/* Returns true if the answer to a failed launch has to come before another
 * launch: it would be taken for the answer to that. */
bool session_state_awaits_answer(const session_state_t *self);

const char *session_phase_name(session_phase_t phase);

#endif
