/* Writes a session's append-only log: clients see only what it holds. Format:
 * docs/reference/journal.md. No thread, no socket; one writer. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_WRITER_H
#define HEARTH_NOTEBOOKS_JOURNAL_WRITER_H

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The "front" in the origin of a cell from a profile's seed, which no client
 * has requested. */
#define JOURNAL_SEED "seed"

typedef enum {
    JOURNAL_REQUEST = 1, /* a client's request, with its origin */
    JOURNAL_EVENT =
        2, /* an iopub or stdin message that a kernel or the gateway made */
    JOURNAL_REPLY = 3, /* the reply that ends a request */
    JOURNAL_STATE =
        4, /* a session's change of state; content says which and why */
    JOURNAL_GAP = 5, /* replaces outputs that were removed; content:
                        {"records","bytes"} */
} journal_kind_t;

typedef struct {
    journal_kind_t kind;
    uint64_t seq;     /* 1, 2, 3 …; set by append */
    int64_t wall_us;  /* when */
    uint64_t request; /* the request's number: its own, or its cause; 0 none */
    uint64_t kernel_seq; /* events from the link: the link's number; else 0 */
    char type[40];       /* Jupyter message type, or a state's name */
    bytes_t origin; /* REQUEST: JSON {"channel","identities":[hex],"client",…};
                       else empty */
    bytes_t header;   /* the message's own header, JSON; may be empty */
    bytes_t metadata; /* JSON object; may be empty */
    bytes_t content;  /* JSON object */
    const bytes_t *buffers;
    size_t buffer_count;
} journal_record_t;

typedef struct journal journal_t;

typedef struct {
    uint64_t bytes_max; /* on disk, spilled parts included; 0: no bound */
    uint64_t spill_min; /* parts from this size on are spilled; 0: never */
} journal_options_t;

/* Opens or creates the log in `folder` (made when missing, 0700) for
 * appending. `key` (32 bytes, may be NULL: a fixed public one) chains the
 * records. A torn tail is cut off and reported in *ret_torn (bytes). */
int journal_open(const char *folder, const uint8_t *key,
                 const journal_options_t *options, journal_t **ret_journal,
                 uint64_t *ret_torn, fault_t *fault);
void journal_destroy(journal_t **self_p);
#define cleanup_journal CLEANUP(journal_destroy)

/* Appends a record by one write(2). When it returns, the record survives the
 * gateway's death (not the machine's). record->seq is set. On failure (-ENOSPC
 * …) nothing was added and the caller may try again. */
int journal_append(journal_t *self, journal_record_t *record, fault_t *fault);

/* Closes its files and gives up the lock until something is appended; that
 * fails if another process has changed the files. */
void journal_rest(journal_t *self);
/* Opens the files again, as the next journal_append would. */
int journal_wake(journal_t *self, fault_t *fault);

uint64_t journal_last_seq(const journal_t *self);
/* Returns the latest that is not 0: after a restart it is the new kernel's. */
uint64_t journal_last_kernel_seq(const journal_t *self);
uint64_t journal_bytes(const journal_t *self);
/* Returns how often records were removed for the bound since it was opened. */
uint64_t journal_compactions(const journal_t *self);

/* Reads from any process, during writing or later: records with seq > since, in
 * order. */
typedef struct journal_reader journal_reader_t;
int journal_reader_new(const char *folder, const uint8_t *key, uint64_t since,
                       journal_reader_t **ret_reader, fault_t *fault);
void journal_reader_destroy(journal_reader_t **self_p);
#define cleanup_journal_reader CLEANUP(journal_reader_destroy)
/* The position of a record, for returning to it. */
typedef struct {
    uint64_t segment;  /* its number */
    uint64_t at;       /* offset in it */
    uint64_t seq;      /* of the record before */
    uint8_t chain[16]; /* its hash */
} journal_mark_t;

/* Returns the position of the record that was lent last. */
journal_mark_t journal_reader_mark(const journal_reader_t *self);
/* Makes the marked record the next one. Then -ENOENT or -EBADMSG: a compaction
 * has moved it. */
int journal_reader_seek(journal_reader_t *self, const journal_mark_t *mark,
                        fault_t *fault);

/* The end of a journal: its last record, and the hash that covers all. */
typedef struct {
    uint64_t seq; /* 0: there is none */
    uint8_t chain[16];
} journal_head_t;

/* Reads what the writer has noted in the folder after its last record: it shows
 * if records are missing at the end. seq 0: nothing was noted. -EBADMSG: no
 * holder of the key wrote the note. */
int journal_head_read(const char *folder, const uint8_t *key,
                      journal_head_t *ret_head, fault_t *fault);

/* Returns the end of what was read so far. */
journal_head_t journal_reader_head(const journal_reader_t *self);
/* Returns true if the record is as it was written: in a compacted segment the
 * hashes differ. */
bool journal_reader_is_original(const journal_reader_t *self);

/* Returns 1 and a record, lent until the next call (spilled parts are loaded);
 * 0 at the current end. Returns -EBADMSG if the next record is damaged (fault
 * says where). */
int journal_reader_next(journal_reader_t *self, journal_record_t *ret_record,
                        fault_t *fault);

#endif
