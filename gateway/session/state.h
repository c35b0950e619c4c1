/* The life of a session: STARTING -> IDLE <-> BUSY -> STOPPING -> GONE. One
 * table of state x event decides; nothing else sets a state. */
#ifndef HEARTH_GATEWAY_SESSION_STATE_H
#define HEARTH_GATEWAY_SESSION_STATE_H

#include <stdbool.h>

#define LIFE_STATES(X)                                                         \
    X(STARTING, "starting") /* a kernel is being launched */                   \
    X(IDLE, "idle")         /* waits for a request */                          \
    X(BUSY, "busy")         /* a request runs */                               \
    X(STOPPING, "stopping") /* the kernel is being ended */                    \
    X(GONE, "gone")         /* no kernel any more; a tombstone answers */

#define LIFE_EVENTS(X)                                                         \
    X(READY)    /* the kernel said that it can work */                         \
    X(BEGIN)    /* a request was handed to the kernel */                       \
    X(END)      /* the kernel answered it */                                   \
    X(STOP)     /* somebody or something wants the kernel's end */             \
    X(EXIT)     /* the kernel has ended */                                     \
    X(RELAUNCH) /* a fresh kernel takes the place of the old one */

typedef enum {
#define X(name, text) LIFE_##name,
    LIFE_STATES(X)
#undef X
    LIFE_STATE_COUNT
} life_t;

typedef enum {
#define X(name) LIFE_ON_##name,
    LIFE_EVENTS(X)
#undef X
    LIFE_EVENT_COUNT
} life_event_t;

const char *life_name(life_t state);
/* Idle or busy: it has a kernel that works. */
bool life_is_at_work(life_t state);
/* Moves *state and returns true; false, and nothing moved, when the event
 * cannot happen in that state. */
bool life_step(life_t *state, life_event_t event);

/* Why a session ended; the word stands in the tombstone and in replies. */
#define LIFE_REASONS(X)                                                        \
    X(NONE, "none")                                                            \
    X(IDLE_TIMEOUT, "idle")                                                    \
    X(LIFETIME, "lifetime")                                                    \
    X(DELETED, "deleted")                                                      \
    X(MEMORY, "memory")                                                        \
    X(PROCESSES, "processes")                                                  \
    X(CPU, "cpu")                                                              \
    X(WALL, "wall")                                                            \
    X(SYSCALL, "syscall")                                                      \
    X(SIGNAL, "signal")                                                        \
    X(EXIT, "exit")                                                            \
    X(PROTOCOL, "protocol")                                                    \
    X(OUTPUT, "output")                                                        \
    X(WORKSPACE, "workspace")                                                  \
    X(LAUNCH, "launch")                                                        \
    X(LOST, "lost")

typedef enum {
#define X(name, text) LIFE_REASON_##name,
    LIFE_REASONS(X)
#undef X
    LIFE_REASON_COUNT
} life_reason_t;

const char *life_reason_name(life_reason_t reason);

#endif
