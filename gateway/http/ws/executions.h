/* Code that is run by REST. What became of it stands in the session's journal,
 * so it outlives the gateway; this is the index that finds it: which requests
 * there are, and how far each has come. A run's id is the msg_id of its
 * execute_request, and a session runs a msg_id once. */
#ifndef HEARTH_GATEWAY_HTTP_WS_EXECUTIONS_H
#define HEARTH_GATEWAY_HTTP_WS_EXECUTIONS_H

#include "gateway/http/core/internal.h"
#include "notebooks/journal/writer.h"

#define RUN_ID_SIZE     37 /* a UUID and a NUL */
#define RUN_DIGEST_SIZE 16
#define RUN_VIEWER      "rest/" /* and the id: its name as a viewer */

typedef enum {
    RUN_SENT,    /* not in the journal yet */
    RUN_QUEUED,  /* in the journal */
    RUN_RUNNING, /* its execute_input has come */
    RUN_ASKING,  /* it waits for input */
    RUN_DONE,    /* its reply is in the journal */
    RUN_REFUSED, /* the session has not taken it */
} run_state_t;

typedef struct {
    char id[RUN_ID_SIZE];
    run_state_t state;
    uint64_t number;                 /* the request's; 0 while it is sent */
    journal_mark_t mark;             /* where its record stands */
    uint8_t digest[RUN_DIGEST_SIZE]; /* of its code */
    json_t *question;      /* owned; {"parent_header","input_request"} */
    uint64_t question_seq; /* where it stands */
    uint64_t answered_seq; /* the last question that was answered */
    json_t *refusal;       /* owned; content of a reply */
} run_t;

/* Those of one session. */
typedef struct {
    char *folder;        /* owned; its journal */
    uint64_t read;       /* the last record that was looked at */
    journal_mark_t mark; /* its; segment 0: none */
    zhashx_t *table;     /* owned; id -> run_t */
    zlistx_t *open;      /* borrowed run_t: those that are in the journal and
                            not done */
    int64_t used;        /* monotonic ms */
} runs_t;

zhashx_t *runs_table_new(void);
/* Those of a session, up to what the journal holds now. Lent until the next
 * tick. NULL: `fault`. */
runs_t *runs_of(http_t *http, const char *session, const char *folder,
                fault_t *fault);
run_t *runs_find(const runs_t *self, const char *id);
run_t *runs_add(runs_t *self, const char *id);
/* A request that never left. */
void runs_drop(runs_t *self, run_t *run);
/* The run that waits for input; NULL when none does. */
run_t *runs_asking(const runs_t *self);

void run_digest(const char *code, uint8_t ret_digest[RUN_DIGEST_SIZE]);
/* What a run that is done has shown and replied:
 * {"status","execution_count","outputs"…}; given. NULL: it is no longer
 * kept. */
json_t *run_result(const http_t *http, const runs_t *self, const run_t *run);

/* A reply to what is not in the journal: the request was refused. */
void runs_on_event(http_t *http, const front_event_t *event);
void runs_on_tick(http_t *http);

#endif
