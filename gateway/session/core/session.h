/* A session: its parts, each with its own header, and what its acting files
 * share. The header of a part has to be included to call it. The parts decide;
 * the acting files do what was decided. In the order of Makemodule.am a file
 * calls only files before its own. One thread owns all of it. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_SESSION_H
#define HEARTH_GATEWAY_SESSION_CORE_SESSION_H

#include "base/buffer.h"
#include "base/cpu_affinity.h"
#include "gateway/session/kernel/kernel_link.h"
#include "gateway/session/lifecycle/end_cause.h"
#include "gateway/session/lifecycle/spec.h"
#include "gateway/session/lifecycle/state.h"
#include "gateway/session/requests/latency.h"

#include <jansson.h>

/* Points in time, monotonic in ms unless they say otherwise. */
typedef struct {
    int64_t asked_us;  /* wall clock; the last request, or what counts as one */
    int64_t begun_us;  /* wall clock; that, or when it was taken over */
    int64_t output_us; /* wall clock; the last output; 0: none yet */
    int64_t launched;  /* a kernel's first launch; 0: it is ready */
    int64_t stuck;     /* the journal could not be written */
    int64_t drained;   /* the grace for the running cell is over */
    int64_t settled;   /* the grace for a start or an end that is under way is
                          over */
} session_clocks_t;

/* The host tools of a session. */
typedef struct {
    struct tool_providers *providers; /* owned */
    struct tool_calls *calls;         /* owned */
    struct tool_recording *recording; /* owned; answers while it is there; or
                                         NULL */
    bool is_known;                    /* the kernel takes TOOLS and CALLED */
    buffer_t missing;                 /* of the cell (tool_missing.h) */
} session_tools_t;

/* The question to the kernel about its imports (imported.h). */
typedef struct {
    json_t *reply;  /* owned; for the client that waits; NULL: none does */
    json_t *names;  /* owned; of what has changed */
    uint64_t token; /* of the client's request */
    int64_t number; /* of the last question; no other gateway has had it */
    bool is_known;  /* the kernel takes LOOK */
} session_imported_t;

/* Requests of the registry's that have no answer yet. */
typedef struct {
    session_imported_t imported;
    buffer_t deletions; /* tokens of requests that wait for the end */
} session_unanswered_t;

/* The bounds of its kernel and its peers. All owned. */
typedef struct {
    struct backpressure *backpressure; /* outputs that clients do not take */
    struct held_memory *memory;        /* of messages */
    struct output_limit *output;
    struct resource_monitor *monitor;
} session_limits_t;

/* The kernel's outputs that are not journaled yet. Both owned. */
typedef struct {
    struct output_batch *batch; /* the older ones */
    struct stream_merge *merge; /* text after them */
} session_outputs_t;

/* How a kernel starts, besides its launch. */
typedef struct {
    struct seed_runner *seed; /* owned */
    struct revive *revival;   /* owned */
    char *hindrance; /* owned; why a fresh kernel could not start; or NULL */
} session_start_t;

typedef struct {
    struct _zloop_t *loop;          /* owned */
    struct timers *timers;          /* owned */
    session_spec_t *spec;           /* owned */
    session_state_t *state;         /* owned */
    holder_t *holder;               /* owned */
    end_cause_t cause;              /* of the end that is under way or over */
    struct notify *notify;          /* owned; the line to the registry */
    struct channels *channels;      /* owned; NULL before they are bound */
    struct frontends *frontends;    /* owned */
    journal_t *journal;             /* owned */
    struct publisher *publisher;    /* owned */
    kernel_link_t *link;            /* owned */
    struct request_queue *requests; /* owned */
    request_t *held_back; /* owned, or NULL; it waits for a command of the
                             registry that was sent before it */
    struct processes *processes; /* owned; beside the kernel */
    struct interrupt *interrupt; /* owned */
    session_limits_t limits;
    session_outputs_t outputs;
    struct unlogged_replies *unlogged; /* owned */
    struct audit_events *audit;        /* owned */
    struct loss_notice *losses;        /* owned; readers of the last one */
    session_start_t start;
    session_tools_t tools;
    session_unanswered_t unanswered;
    struct recovery *recovery; /* owned; NULL unless it was taken over */
    latency_t latency;         /* of replies, until the registry has it */
    buffer_t info; /* content of kernel_info_reply; empty until READY */
    session_phase_t announced_phase; /* the state that the frontends know */
    cpu_affinity_t processors;       /* processors that this thread may use */
    session_clocks_t clocks;
} session_t;

/* Returns the kernel, lent; NULL while the session has no kernel. */
static inline kernel_t *session_kernel(const session_t *self)
{
    return kernel_link_kernel(self->link);
}

#endif
