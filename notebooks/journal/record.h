/* The data of a journal: its records, their positions, and its end. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_RECORD_H
#define HEARTH_NOTEBOOKS_JOURNAL_RECORD_H

#include "base/bytes.h"

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

/* The position of a record, for returning to it. */
typedef struct {
    uint64_t segment;  /* its number */
    uint64_t at;       /* offset in it */
    uint64_t seq;      /* of the record before */
    uint8_t chain[16]; /* its hash */
} journal_mark_t;

/* The end of a journal: its last record, and the hash that covers all. */
typedef struct {
    uint64_t seq; /* 0: there is none */
    uint8_t chain[16];
} journal_head_t;

#endif
