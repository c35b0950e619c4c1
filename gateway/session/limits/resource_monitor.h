/* The limits of a session as a whole: its control group where there is one,
 * else what /proc says. It looks and decides; the session acts, and looks again
 * when the verdict says so. A look has a bounded share of a processor and is
 * rarer while nothing happens. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_LIMITS_RESOURCE_MONITOR_H
#define HEARTH_GATEWAY_SESSION_LIMITS_RESOURCE_MONITOR_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/session/lifecycle/end_cause.h"
#include "gateway/session/lifecycle/spec.h"
#include "protocol/message.h"

#include <stdbool.h>
#include <stdint.h>

/* The pause from which on nothing is held open between looks. */
#define RESOURCE_MONITOR_REST_MS 4000

/* A decision for the session. */
typedef struct {
    end_reason_t reason; /* of the end that is due; END_REASON_NONE: none */
    char text[160];      /* likewise, a sentence */
    uint64_t refused;    /* processes that were refused since the last look */
    bool is_quiet;       /* nothing has happened since the last look */
} resource_verdict_t;

/* The cost of a cell, as its kernel's control group reports it. */
typedef struct {
    uint64_t cpu_us;
    uint64_t peak_bytes;
    bool is_known;     /* it ran in one group, from its begin to its end */
    bool has_own_peak; /* the peak is the cell's */
} cell_cost_t;

typedef struct resource_monitor resource_monitor_t;

/* Returns a monitor without a group; `spec` is borrowed, and its cgroup kept up
 * to date. */
resource_monitor_t *resource_monitor_new(session_spec_t *spec);
/* Frees the monitor; the group stays for the next gateway. */
void resource_monitor_destroy(resource_monitor_t **self_p);
#define cleanup_resource_monitor CLEANUP(resource_monitor_destroy)

/* Takes a kernel's group by its name, "" for none. Its counts so far were
 * reported already. */
void resource_monitor_begin(resource_monitor_t *self, const char *name);
/* Takes the group of a session that was taken over, with today's limits. */
void resource_monitor_adopt(resource_monitor_t *self);
/* Ends the group: the kernel has ended. Returns the name of a group that cannot
 * be removed yet, which the caller owns; NULL if nothing is left. */
char *resource_monitor_end(resource_monitor_t *self);
/* Returns the kernel's control group, lent; NULL if the kernel has none of its
 * own. */
cgroup_t *resource_monitor_group(const resource_monitor_t *self);

/* Returns true if the group has ended a process for its memory. Each such end
 * is counted once here: only as many calls return true. */
bool resource_monitor_take_kill(resource_monitor_t *self);
/* Returns true if the group ends all of its processes when it ends one of them
 * for its memory. That is so in version 2 (memory.oom.group). */
bool resource_monitor_kills_all(const resource_monitor_t *self);

/* Looks at the kernel whose pid 1 is `pid` (0: there is no kernel). `cell` is
 * the running cell (0: no cell runs). */
void resource_monitor_look(resource_monitor_t *self, pid_t pid, int64_t cell,
                           resource_verdict_t *ret_verdict);
/* Decides by what was used; resource_monitor_look calls it. */
void resource_monitor_judge(resource_monitor_t *self,
                            const cgroup_usage_t *usage, int64_t cell,
                            resource_verdict_t *ret_verdict);
/* Says why a kernel has ended: a verdict without an end if it was by no limit
 * that is known here. */
void resource_monitor_explain(resource_monitor_t *self, const kernel_end_t *end,
                              int64_t cell, resource_verdict_t *ret_verdict);

/* Returns the ms between looks at a session that works. */
int64_t resource_monitor_base_ms(const resource_monitor_t *self);
/* Sets and returns the ms to the next look after one that took `took_ms`;
 * `is_quiet`: the session is idle and does nothing. */
int64_t resource_monitor_pace(resource_monitor_t *self, int64_t took_ms,
                              bool is_quiet);
/* Goes back to the shortest pause. Returns true if it was longer. */
bool resource_monitor_hurry(resource_monitor_t *self);
/* Notes how often the journal has given up outputs. Returns true if the number
 * has grown since the last call. */
bool resource_monitor_note_journal(resource_monitor_t *self,
                                   uint64_t compactions);
/* Closes what is held open for looks. */
void resource_monitor_rest(resource_monitor_t *self);

/* Opens what is read at a cell. */
void resource_monitor_expect_cell(resource_monitor_t *self);
void resource_monitor_cell_begin(resource_monitor_t *self, int64_t now_ms);
/* Appends the cell's cost, if it is known, to the members that the reply's
 * metadata get. For a repeated reply it is that of the first. */
void resource_monitor_cell_end(resource_monitor_t *self, int64_t now_ms,
                               buffer_t *members);
/* Returns the cost of the last cell. */
cell_cost_t resource_monitor_cost(const resource_monitor_t *self);

#endif
