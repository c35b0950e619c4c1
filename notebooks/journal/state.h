/* The members of a journal's writer. Only the files that write a journal
 * include it, in the order open_segment, retention, append, writer. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_STATE_H
#define HEARTH_NOTEBOOKS_JOURNAL_STATE_H

#include "base/buffer.h"
#include "notebooks/journal/segment.h"
#include "notebooks/journal/writer.h"

/* A file on its way; it gets its name by a rename. */
#define JOURNAL_UNFINISHED "unfinished"

/* A closed segment; the open one is not in the list. */
typedef struct {
    uint64_t number;
    uint64_t size;         /* of its file */
    segment_stage_t stage; /* what is left of it */
    bool is_damaged;       /* found so by a compaction: left as it is */
} closed_t;

struct journal {
    char *folder;                     /* owned: its path, for faults */
    int folder_fd;                    /* owned; locked; -1: it rests */
    int fd;                           /* owned: the open segment, or -1 */
    int head_fd;                      /* owned: its note of the end, or -1 */
    segment_key_t key;                /* of the chain */
    journal_options_t options;        /* as given */
    uint64_t segment_max;             /* bytes; then the next one begins */
    closed_t *closed;                 /* owned: oldest first */
    size_t closed_count;              /* of them */
    uint64_t number;                  /* of the open segment */
    uint64_t size;                    /* of its file, as far as it is good */
    uint64_t weight;                  /* its size and its blobs */
    uint8_t chain[SEGMENT_HASH_SIZE]; /* the last record's hash */
    uint64_t last_seq;                /* of the last record */
    uint64_t last_kernel_seq;         /* the latest one */
    uint64_t bytes;                   /* on disk, all files */
    uint64_t compactions;             /* segments that lost something */
    uint64_t compact_at;              /* bytes; from here on it is tried */
    bool is_dirty;                    /* bytes after `size` must be cut off */
    buffer_t gather;                  /* owned: header, table, references */
    buffer_t group;                   /* owned: small records, in one piece */
    bytes_t *pieces;                  /* owned: the body of one record */
    size_t pieces_max;                /* room in it */
};

#endif
