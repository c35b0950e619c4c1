/* Messages between the registry and a session's thread: commands to the
 * session, reports from it. Each is handed over as a pointer
 * (gateway/frontends/handover.h) and owns all in it, descriptors included. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_MESSAGES_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_MESSAGES_H

#include "base/cleanup.h"
#include "gateway/config/download_rules.h"
#include "gateway/metrics/histogram.h"
#include "gateway/session/lifecycle/holder.h"

#include <jansson.h>

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- to the session ---- */

typedef enum {
    SESSION_LAUNCHING, /* launching: a kernel is asked for */
    SESSION_LAUNCHED,  /* launched: it was forked */
    SESSION_FAILED,    /* text: the launch failed, and why */
    SESSION_AGAIN,     /* text: the launch failed, and the next one may
                          succeed */
    SESSION_HAND,      /* hand: the session leaves the pool */
    SESSION_SHOW,      /* text: a reader that wants to learn of a loss, or NULL;
                          asks for its description */
    SESSION_LOSS_REPORTED, /* loss: a reader has got a loss in an answer */
    SESSION_INTERRUPT,     /* interrupt: the running cell, or one request */
    SESSION_RESTART,
    SESSION_DELETE,
    SESSION_END,     /* text: why it ends at once */
    SESSION_TOUCH,   /* it is in use: its idle time begins anew */
    SESSION_NOTE,    /* text: JSON, for the journal */
    SESSION_ATTACH,  /* text: name of a frontend that looks at it */
    SESSION_REVIVE,  /* host_uid: a fresh kernel for a session that is gone */
    SESSION_REVIVED, /* text: JSON, the outcome of a revival */
    SESSION_DRAIN,   /* grace_ms: end, and keep the kernel */
    SESSION_FULL,    /* text: its workspace is past its limit */
    SESSION_FILE,    /* text: JSON of what was done with a file of it */
    SESSION_TOOLS,   /* tools: a request of a process that answers host tools */
    SESSION_FORGET,  /* it is gone, and has to give up its ports */
    SESSION_LOOK,    /* text: JSON, the answer to a change of packages; it is
                        to say what the kernel has imported of them */
    SESSION_NO_START, /* text: why a fresh kernel could not start from now on;
                         "": it could */
} session_command_kind_t;

#define SESSION_COMMANDS (SESSION_NO_START + 1)

typedef struct {
    int status_fd; /* owned; pid 1 writes its faults to it; -1: taken */
    uid_t host_uid;
    uid_t init_uid; /* pid 1's; 0: the session's */
    char *group;    /* owned; name of the control group, or NULL */
    char *packages; /* owned; the gateway's folder of packages that the kernel
                       is shown, or NULL */
    char *preinstalled; /* owned; the folder of the profile's packages that the
                           kernel has, or NULL */
    char *preinstalled_contents; /* owned; JSON text of what is in it, or
                                    NULL */
} session_launching_t;

typedef struct {
    pid_t pid;
    int pidfd; /* owned; -1: taken */
} session_launched_t;

/* Settings of a session that leaves the pool. */
typedef struct {
    char *name;  /* owned; its new name, or NULL */
    char *asker; /* owned; its client, for the audit log */
    char *tools; /* owned; session_wishes_t */
    download_wishes_t downloads;
    holder_id_t holder;
    int64_t idle_timeout_ms;
    int64_t lifetime_ms;
    int64_t cell_limit_ms;
    int64_t gone_keep_ms;
    bool restarts;
} session_hand_t;

typedef struct {
    bool kills;   /* the kernel is ended if it does not stop */
    char *msg_id; /* owned; of the one request that is meant; or NULL: that
                     which runs */
} session_interrupt_t;

typedef struct {
    char *reader; /* owned */
    uint64_t seq; /* of the loss */
} session_loss_reported_t;

typedef enum {
    TOOLS_REGISTER, /* text: JSON array of tools */
    TOOLS_REMOVE,   /* the provider and its tools */
    TOOLS_LIST,     /* asks for all tools */
    TOOLS_TAKE,     /* waits for calls above `number`, at most wait_ms */
    TOOLS_LEAVE,    /* leaves `place` */
    TOOLS_ANSWER,   /* text: JSON, the result of the call `number` */
    TOOLS_FAIL,     /* text: why the call `number` has no result */
    TOOLS_RECORD,   /* text: recorded calls that answer from now on; "": none */
    TOOLS_PROGRESS, /* the gateway's own; text: JSON object, how far the call
                       `number` has come */
} session_tools_kind_t;

typedef struct {
    session_tools_kind_t kind;
    char *who;      /* owned; the client, for the audit log */
    char *provider; /* owned; or NULL */
    char *place;    /* owned; where it waits, or NULL */
    char *text;     /* owned; or NULL */
    uint64_t number;
    int64_t wait_ms;
    bool is_over;     /* LEAVE: calls that were given there are given anew */
    bool is_gateways; /* the gateway wants it, for a server of its own */
} session_tools_request_t;

typedef struct {
    session_command_kind_t kind;
    uint64_t token; /* of the request that is to be answered; 0: none */
    union {         /* by kind */
        session_launching_t launching;
        session_launched_t launched;
        session_hand_t hand;
        char *text; /* owned */
        session_interrupt_t interrupt;
        session_loss_reported_t loss;
        session_tools_request_t tools;
        uid_t host_uid;
        int64_t grace_ms; /* for a running cell */
    };
} session_command_t;

session_command_t *session_command_new(session_command_kind_t kind,
                                       uint64_t token);
/* Returns a command of a kind that has a text, with a copy of it. */
session_command_t *session_command_new_text(session_command_kind_t kind,
                                            uint64_t token, const char *text);
/* Returns a request of the gateway's own about host tools, with copies of both
 * texts; provider and text may be NULL. */
session_command_t *session_command_new_tools(session_tools_kind_t kind,
                                             const char *provider,
                                             const char *text);
void session_command_destroy(session_command_t **self_p);
#define cleanup_session_command CLEANUP(session_command_destroy)
/* Destroys a command, as a handover_destroy_fn. */
void session_command_discard(void **object_p);

/* ---- from the session ---- */

typedef enum {
    SESSION_ANSWERED, /* token, answer */
    SESSION_READY,    /* answer for the client that asked for the session; NULL:
                         it has to be asked */
    SESSION_HANDED,   /* token: it has left the pool */
    SESSION_LIMIT,    /* text: name of a limit that was reached */
    SESSION_LATENCY,  /* latency of replies */
    SESSION_CALL,     /* call: of a tool that a server of the gateway answers */
    SESSION_LAUNCH,   /* a kernel is wanted */
    SESSION_STALE,    /* its zygote is out of date */
    SESSION_SPENT,    /* it cannot be handed out */
    SESSION_LEFT,     /* text: name of a control group whose kernel has ended,
                         and that could not be removed yet */
    SESSION_GONE,     /* gone: it has ended */
    SESSION_BROKEN,   /* text: it could not begin, and why */
    SESSION_REMOVED,  /* its thread ends, and nothing of it is kept */
    SESSION_DRAINED,  /* its thread ends, and its kernel is kept */
} session_report_kind_t;

#define SESSION_REPORTS (SESSION_DRAINED + 1)

typedef struct {
    char reason[16]; /* one of END_REASONS */
    char *detail;    /* owned; a sentence */
} session_gone_t;

typedef struct {
    char *provider; /* owned; the server's */
    char *text;     /* owned; JSON, as the server's process gets it */
    uint64_t id;
    bool has_ended; /* no answer is wanted any more */
} session_call_t;

typedef struct {
    session_report_kind_t kind;
    uint64_t token;     /* of the request that it is about; 0: none */
    union {             /* by kind */
        json_t *answer; /* owned */
        char *text;     /* owned */
        histogram_t latency;
        session_gone_t gone;
        session_call_t call;
    };
} session_report_t;

session_report_t *session_report_new(session_report_kind_t kind,
                                     uint64_t token);
void session_report_destroy(session_report_t **self_p);
#define cleanup_session_report CLEANUP(session_report_destroy)
/* Destroys a report, as a handover_destroy_fn. */
void session_report_discard(void **object_p);

#endif
