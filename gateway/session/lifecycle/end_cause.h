/* Why a session's kernel ended: a word and a sentence. The first cause counts,
 * later ones are its consequences. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_END_CAUSE_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_END_CAUSE_H

#include "kernels/kernel.h"

#include <stdarg.h>
#include <stdbool.h>

/* The word is in the tombstone and in replies. */
#define END_REASONS(X)                                                         \
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
#define X(name, text) END_REASON_##name,
    END_REASONS(X)
#undef X
    END_REASON_COUNT
} end_reason_t;

const char *end_reason_name(end_reason_t reason);

/* A cause; all zero means no cause. */
typedef struct {
    end_reason_t reason;
    char detail[256]; /* a sentence */
} end_cause_t;

/* Sets the cause, and replaces an earlier one. */
void end_cause_set(end_cause_t *self, end_reason_t reason, const char *format,
                   ...) __attribute__((format(printf, 3, 4)));
/* Sets the cause if none was set before. Returns true if it was set now. */
bool end_cause_set_first(end_cause_t *self, end_reason_t reason,
                         const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
/* Sets the cause to how the kernel ended by itself, unless a cause was set
 * before. `has_group`: limits of its own would be known. */
void end_cause_explain(end_cause_t *self, const kernel_end_t *end,
                       bool has_group);
/* Returns true if the kernel may be replaced after an end by this cause. */
bool end_cause_permits_restart(const end_cause_t *self);
/* Returns true if the session was ended on request or by a deadline. */
bool end_cause_is_planned(const end_cause_t *self);

#endif
