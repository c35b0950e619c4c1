/* Cells that are run by REST. Their results are in the session's journal, so
 * they outlive the gateway. This is the index: which executions there are, how
 * far each one is, and where the records of programs beside the kernel are. An
 * execution's id is the msg_id of its execute_request, and a session runs a
 * msg_id once. */
#ifndef HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTIONS_H
#define HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTIONS_H

#include "base/uuid.h"
#include "gateway/http/core/http.h"
#include "notebooks/recording/process_transcript.h"

#define EXECUTION_ID_SIZE     (UUID_SIZE + 1)
#define EXECUTION_DIGEST_SIZE 16
#define EXECUTION_CLIENT      FRONTEND_OWN_CLIENT /* and the id: its name */

typedef enum {
    EXECUTION_SENT,    /* not in the journal yet */
    EXECUTION_QUEUED,  /* in the journal */
    EXECUTION_RUNNING, /* its execute_input has come */
    EXECUTION_ASKING,  /* it waits for input */
    EXECUTION_DONE,    /* its reply is in the journal */
    EXECUTION_REFUSED, /* the session has refused it */
} execution_state_t;

typedef struct {
    char id[EXECUTION_ID_SIZE];
    execution_state_t state;
    uint64_t number;     /* the request's number; 0: not known yet */
    journal_mark_t mark; /* position of its record */
    uint8_t digest[EXECUTION_DIGEST_SIZE]; /* of its code */
    int64_t sent_us;                       /* wall clock; of its request */
    int64_t changed_us;                    /* of its last record */
    size_t tokens_max;     /* tokens that its client wants in a view; 0: as
                              usual */
    json_t *question;      /* owned; {"parent_header","input_request"} */
    uint64_t question_seq; /* its journal number */
    uint64_t answered_seq; /* number of the last question that was answered */
    json_t *refusal;       /* owned; content of the refusing reply */
} execution_t;

/* A cell of the session, whichever client has run it. */
typedef struct {
    long long count;     /* its number, as in Out[N] */
    uint64_t request;    /* the request's number */
    journal_mark_t mark; /* position of its execute_input */
} executions_cell_t;

#define EXECUTIONS_CELLS_MAX 65536 /* that can be found by their numbers */

/* A program beside the kernel. */
typedef struct {
    uint64_t number;                  /* of the session's programs */
    process_transcript_span_t *spans; /* owned; of its records */
    size_t span_count;                /* of them */
    uint64_t passed; /* bytes of the journal up to its last record */
} executions_process_t;

/* Bytes of other records between two of a program, in one span: a reader reads
 * ahead by this number. */
#define EXECUTIONS_SPAN_GAP 65536
/* Spans of all programs. Further records are added to a program's last one,
 * however far they are. */
#define EXECUTIONS_SPANS_MAX 65536

#define EXECUTIONS_PROCESSES_MAX                                               \
    1024 /* the newest ones that are remembered                                \
          */

/* The executions of one session. */
typedef struct {
    char *folder;        /* owned; folder of its journal */
    uint64_t read;       /* the last record that was read */
    journal_mark_t mark; /* its position; segment 0: none */
    zhashx_t *table;     /* owned; id -> execution_t */
    zlistx_t *
        open; /* borrowed execution_t: those in the journal that are not done */
    int64_t used;                    /* monotonic ms */
    executions_cell_t *cells;        /* owned; the newest last */
    size_t cell_count;               /* of them */
    executions_process_t *processes; /* owned; the newest last */
    size_t process_count;            /* of them */
    size_t span_count;               /* that they have */
    uint64_t passed;                 /* bytes of the records that were read */
} executions_t;

zhashx_t *executions_table_new(void);
/* Returns a session's executions, up to the current end of the journal. Lent
 * until the next tick. NULL on failure; the fault is for clients, ENOENT if the
 * session has no journal. */
executions_t *executions_of(http_t *http, const char *session,
                            const char *folder, fault_t *fault);
/* Answers that the executions cannot be had. */
void executions_fail(exchange_t *exchange, const fault_t *fault);
execution_t *executions_find(const executions_t *self, const char *id);
execution_t *executions_add(executions_t *self, const char *id);
/* Removes an execution whose request was never sent. */
void executions_drop(executions_t *self, execution_t *run);
/* Returns the execution that waits for input, lent; NULL if no execution waits.
 */
execution_t *executions_asking(const executions_t *self);

void execution_digest(const char *code,
                      uint8_t ret_digest[EXECUTION_DIGEST_SIZE]);
/* Returns the newest cell with that number, lent until the next change; NULL if
 * no cell has it. */
const executions_cell_t *executions_cell(const executions_t *self,
                                         long long count);

/* Returns the program with that number, lent until the next change; NULL if it
 * is not remembered. */
const executions_process_t *executions_process(const executions_t *self,
                                               uint64_t number);
/* Returns true if the journal may have the program with that number: it is
 * remembered, or older than all that are. */
bool executions_may_have_process(const executions_t *self, uint64_t number);

/* Handles a reply to a request that is not in the journal: it was refused. */
void executions_on_event(http_t *http, const frontend_event_t *event);
void executions_on_tick(http_t *http);

#endif
