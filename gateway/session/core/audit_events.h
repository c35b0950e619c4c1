/* Reports of a session to the audit log: its start and end, its cells,
 * refusals, limits, messages with a wrong signature. Code and output are
 * reported by length and hash alone. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_AUDIT_EVENTS_H
#define HEARTH_GATEWAY_SESSION_CORE_AUDIT_EVENTS_H

#include "base/cleanup.h"
#include "gateway/session/lifecycle/end_cause.h"
#include "gateway/session/lifecycle/spec.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/requests/request.h"
#include "protocol/span.h"

typedef struct audit_events audit_events_t;

/* Returns a writer to the log; `spec` is borrowed. */
audit_events_t *audit_events_new(const session_spec_t *spec);
void audit_events_destroy(audit_events_t **self_p);
#define cleanup_audit_events CLEANUP(audit_events_destroy)

/* Notes that the session began, or was taken over. */
void audit_events_start(audit_events_t *self);
/* Notes that the kernel is gone. */
void audit_events_end(audit_events_t *self, const end_cause_t *cause,
                      const kernel_end_t *end);
/* Notes a cause that has a record of its own. Returns true if it is a limit. */
bool audit_events_stop(audit_events_t *self, const end_cause_t *cause);
/* Notes that something past a limit was refused to the kernel. */
void audit_events_limit(audit_events_t *self, const char *name, uint64_t max);
/* Notes that a limit of host tools was reached. Code can reach it any number of
 * times, so only a few of these events have a record each. */
void audit_events_tool_limit(audit_events_t *self, const char *name,
                             uint64_t max);
/* Notes that a request was refused since too many wait. */
void audit_events_full(audit_events_t *self, const char *limit, uint64_t max);
/* Notes a limit that a cell has reached, as its kernel reports. */
void audit_events_limit_said(audit_events_t *self, const char *name,
                             uint64_t used, uint64_t max);
void audit_events_cell_begin(audit_events_t *self, const request_t *request);
/* Takes over a cell whose begin an earlier gateway has noted. */
void audit_events_cell_resume(audit_events_t *self, const request_t *request);
/* Notes the end of a cell: `content` is its reply, `bytes` its output. */
void audit_events_cell_end(audit_events_t *self, const request_t *request,
                           jspan_t content, uint64_t bytes,
                           const cell_cost_t *cost);
/* Notes a cell whose kernel ended first. */
void audit_events_cell_lost(audit_events_t *self, const request_t *request);
/* Notes that a provider of host tools was registered or, without tools,
 * removed. */
void audit_events_tools(audit_events_t *self, const char *who,
                        const char *provider, size_t tools);
/* Notes that the profile does not permit what a provider offers. */
void audit_events_tools_refused(audit_events_t *self, const char *who,
                                const char *provider, const char *why);
/* The call of a host tool that was answered. */
typedef struct {
    const char *who;      /* that answered it */
    const char *outcome;  /* "ok" or the reason of the error */
    const char *tool;     /* its name */
    const char *provider; /* that offers it; "" if it is not known */
    uint64_t request;     /* the cell's number */
    uint64_t arguments;   /* bytes */
    uint64_t result;      /* bytes */
    int64_t ms;           /* from call to answer */
    bool is_refused;      /* the gateway gave it to no process */
} audit_call_t;

/* Notes a call. Code can make any number of calls that are refused, so only a
 * few of those have a record each. */
void audit_events_call(audit_events_t *self, const audit_call_t *call);
/* A process beside the kernel. */
typedef struct {
    const char *who;       /* that started it */
    uint64_t number;       /* among the session's processes */
    const char *arguments; /* the log has their length and hash */
    bool is_terminal;
} audit_process_t;

/* How it ended. */
typedef struct {
    const char *detail; /* a sentence */
    uint64_t bytes;     /* its output */
    uint64_t cpu_ms;
    bool is_lost; /* its keeper ended first, so its end was not seen */
} audit_process_end_t;

void audit_events_process_start(audit_events_t *self,
                                const audit_process_t *process);
void audit_events_process_end(audit_events_t *self,
                              const audit_process_t *process,
                              const audit_process_end_t *end);
/* Notes messages with a wrong signature or form: a channels_watch_t, whose
 * `arg` is an audit_events_t. */
void audit_events_bad_message(void *arg, channel_t channel, const char *verdict,
                              uint64_t count);

#endif
