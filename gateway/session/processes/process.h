/* One process beside the kernel, as the gateway knows it, and the session's
 * table of them. Plain data; owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/session/processes/keeper_link.h"
#include "gateway/session/processes/process_feed.h"
#include "gateway/session/processes/process_keys.h"
#include "gateway/session/processes/process_writes.h"
#include "notebooks/recording/process_transcript.h"
#include "protocol/span.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESSES_LIVING 64 /* at a time, of a session */
#define PROCESSES_ENDED  64 /* that are kept when another is added */
/* Bytes of output in the journal, of each. */
#define PROCESS_RECORDED PROCESS_TRANSCRIPT_MAX
#define PROCESS_KEY_MAX  255 /* bytes of a client's key */

typedef enum {
    PROCESS_STARTING, /* its keeper has not said that it runs */
    PROCESS_RUNNING,
    PROCESS_ENDED
} process_phase_t;

/* How it ended, beside keeper_end_t. */
typedef enum {
    PROCESS_BY_KEEPER, /* as `end`, `code` and `cause` say */
    PROCESS_BY_OUTPUT, /* the same, because its output was past
                          limits/cell_output */
    PROCESS_BY_KERNEL, /* the session's kernel has ended, and it with it */
    PROCESS_LOST,      /* its keeper has ended; no more is known */
    PROCESS_BY_MEMORY, /* the session's control group has ended it, or a
                          process that it had started, for its memory */
} process_fate_t;

/* Its input. */
typedef struct {
    uint64_t sent;  /* bytes that were sent to the keeper */
    uint64_t taken; /* bytes that the process has read */
    bool is_over;   /* a pipe that was closed: nothing more reaches it */
    bool is_unread; /* the process itself has closed it, says the keeper */
    process_writes_t writes; /* owned; what came under keys */
} process_input_t;

/* The beginning of a character at the end of its output. The rest comes with
 * the next piece, so it is not in the journal yet. */
typedef struct {
    unsigned char bytes[4];
    size_t size;     /* 0: there is none */
    uint64_t offset; /* of the first of them in the output */
    unsigned stream;
} process_torn_t;

/* The request that has started it. */
typedef struct {
    request_t *request; /* owned; waits for the answer; or NULL */
    bool follows;       /* and its client follows then */
} process_start_t;

typedef struct process {
    struct process *next; /* owned by the table */
    uint64_t number;      /* 1, 2, 3 … in the life of the session */
    char *arguments;      /* owned; JSON array of texts */
    char *folder;         /* owned; working folder, as it was asked for */
    char *who;            /* owned; the client that started it */
    char *key;            /* owned; under which it runs once; NULL: none */
    char digest[PROCESS_DIGEST_SIZE]; /* of the request with that key */
    bool is_terminal;
    int64_t limit_ms; /* 0: none */
    process_phase_t phase;
    pid_t pid;          /* inside the sandbox; 0: unknown */
    int64_t started_us; /* wall clock */
    int64_t ended_us;
    process_fate_t fate; /* once it has ended */
    keeper_end_t end;
    int code;
    keeper_cause_t cause;
    uint64_t cpu_ms;
    uint64_t memory_limit; /* bytes, of the session; PROCESS_BY_MEMORY */
    uint64_t bytes[2];     /* of stdout and stderr so far */
    uint64_t recorded;     /* bytes that the journal has */
    uint64_t noted;        /* offset: what is before was counted */
    process_torn_t torn;
    process_input_t input; /* owned */
    int64_t asked_ms;      /* monotonic; its start is awaited; 0: not */
    int64_t gone_ms;       /* monotonic; its keeper has ended; 0: not */
    void *session;         /* borrowed; session_t, for the link's calls */
    keeper_link_t *link;   /* owned; NULL: it has ended */
    process_feed_t *feed;  /* owned */
    process_start_t start; /* owned */
} process_t;

typedef struct processes {
    process_t *first;     /* owned; oldest first */
    uint64_t last_number; /* that was given */
    size_t living;
    size_t ended;
    process_keys_t forgotten; /* owned; of those that are not kept any more */
} processes_t;

processes_t *processes_new(void);
void processes_destroy(processes_t **self_p);
#define cleanup_processes CLEANUP(processes_destroy)

/* Adds a process with that number, or the next one for 0. Lent. Forgets the
 * oldest processes that have ended, if too many have. */
process_t *processes_add(processes_t *self, uint64_t number);
/* Returns the process, lent; NULL if no process has that number. */
process_t *processes_find(const processes_t *self, uint64_t number);
/* Returns the process that was started under a key, lent; NULL if there is
 * none, or no longer. */
process_t *processes_find_key(const processes_t *self, const char *key);
/* Takes a process out and frees it. */
void processes_remove(processes_t *self, process_t *process);
/* Notes that it has ended and closes the connection. No process leaves the
 * table by this, so a loop over the table may end several. */
void processes_end(processes_t *self, process_t *process);

/* Appends the process as an object, as clients and the journal get it. */
void process_write(const process_t *self, const char *key, buffer_t *out);
/* Reads what process_write has written. Returns false if the object is
 * something else. */
bool process_read(process_t *self, jspan_t object);
/* Returns the number in what process_write has written; 0 if it is missing. */
uint64_t process_read_number(jspan_t object);
/* Writes how it ended as a sentence without a full stop. */
void process_write_end(const process_t *self, buffer_t *out);

#endif
