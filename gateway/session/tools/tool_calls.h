/* Calls of host tools that wait for their answers, and answers that the kernel
 * may not have yet. It also counts what limits leave to the running cell. It
 * decides; times are arguments, monotonic in ms. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_CALLS_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_CALLS_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "kernels/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* A call that waits. */
typedef struct tool_call {
    struct tool_call *next; /* owned by the list's head */
    uint64_t id;            /* number of its record in the journal */
    uint64_t number;        /* the kernel's */
    uint64_t request;       /* the cell's */
    char *tool;             /* owned */
    char *provider;         /* owned; the one that is to answer */
    char *place;            /* owned; where it was given to; NULL: nowhere */
    buffer_t arguments;     /* JSON */
    buffer_t recorded;      /* JSON; in a replay, the recorded result of a call
                               of the gateway's own; or empty */
    char *held;             /* owned; its result, which the journal has not
                               taken yet; or NULL */
    bool wants_progress;    /* the kernel takes how far it has come */
    int64_t begun_ms;
    int64_t until_ms; /* then it fails */
} tool_call_t;

void tool_call_destroy(tool_call_t **self_p);
#define cleanup_tool_call CLEANUP(tool_call_destroy)

typedef struct tool_calls tool_calls_t;

/* Returns an empty list of calls, which the caller owns. `limits` are borrowed.
 */
tool_calls_t *tool_calls_new(const profile_limits_t *limits);
void tool_calls_destroy(tool_calls_t **self_p);
#define cleanup_tool_calls CLEANUP(tool_calls_destroy)

/* Begins the allowance of a cell; answers for the one before are forgotten. */
void tool_calls_begin_cell(tool_calls_t *self);

/* A limit that was reached. */
typedef struct {
    const char *name; /* static */
    uint64_t max;
} tool_limit_t;

/* Counts a call of the running cell. -EDQUOT with a sentence if it is past a
 * limit; *ret_limit is that limit, and else untouched. */
int tool_calls_count(tool_calls_t *self, size_t argument_bytes,
                     tool_limit_t *ret_limit, fault_t *fault);
/* Counts the result of a call likewise. */
int tool_calls_count_result(tool_calls_t *self, size_t bytes,
                            tool_limit_t *ret_limit, fault_t *fault);
/* Takes back what was counted last: it could not be journaled, and comes once
 * more. */
void tool_calls_uncount(tool_calls_t *self, size_t argument_bytes);
void tool_calls_uncount_result(tool_calls_t *self, size_t bytes);

/* Adds a call at the end, which is taken. */
void tool_calls_add(tool_calls_t *self, tool_call_t **call_p);
/* Returns the first call, lent; the next ones are at its `next`. */
const tool_call_t *tool_calls_first(const tool_calls_t *self);
const tool_call_t *tool_calls_find(const tool_calls_t *self, uint64_t id);
/* Returns the call to which the kernel gave that number, lent; NULL if no such
 * call waits. */
const tool_call_t *tool_calls_find_number(const tool_calls_t *self,
                                          uint64_t number);
/* Takes a call out of the list; the caller owns it. NULL if it does not wait.
 */
tool_call_t *tool_calls_take(tool_calls_t *self, uint64_t id);
/* Keeps the result, JSON, of a call that waits: it could not be journaled. The
 * call is due now. */
void tool_calls_hold(tool_calls_t *self, uint64_t id, const char *result,
                     int64_t now_ms);
/* Returns true if a provider that waits at `place` wants the call: it was given
 * to no place, or to this one, which knows those up to `after`. */
bool tool_calls_is_wanted(const tool_call_t *call, const char *provider,
                          const char *place, uint64_t after);
/* Notes that those calls were given to the place. */
void tool_calls_note_given(tool_calls_t *self, const char *provider,
                           const char *place, uint64_t after);
/* Notes that the place was left: what was given there has to be given again. */
void tool_calls_note_left(tool_calls_t *self, const char *place);
/* Forgets all calls and answers: there is a fresh kernel. */
void tool_calls_clear(tool_calls_t *self);
/* Returns true if a call of the provider waits that was given to a place. */
bool tool_calls_are_given(const tool_calls_t *self, const char *provider);
/* Returns when the first call fails; INT64_MAX if no call waits. */
int64_t tool_calls_next_ms(const tool_calls_t *self);

/* Keeps the content of an answer, in case the kernel does not get it. Of more
 * answers than the limits permit calls, the newest ones are kept. */
void tool_calls_keep_answer(tool_calls_t *self, uint64_t number,
                            bytes_t content);
/* Calls `fn` for each kept answer. */
typedef void tool_calls_answer_fn(void *arg, uint64_t number, bytes_t content);
void tool_calls_each_answer(const tool_calls_t *self, tool_calls_answer_fn *fn,
                            void *arg);

#endif
