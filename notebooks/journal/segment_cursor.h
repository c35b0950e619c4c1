/* The place in one segment file from which its records are read in turn, while
 * the writer may still append to it. Believes nothing that the chain does not
 * confirm. Which segment comes next is the reader's to know. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_SEGMENT_CURSOR_H
#define HEARTH_NOTEBOOKS_JOURNAL_SEGMENT_CURSOR_H

#include "notebooks/journal/segment.h"

typedef struct {
    const char *folder;      /* borrowed; its path, for faults */
    segment_key_t key;       /* of the chain */
    int fd;                  /* owned; the segment that is read, or -1 */
    segment_header_t header; /* the segment's */
    uint64_t at;             /* offset where the next record begins */
    uint64_t seq;            /* of the last record that was passed */
    uint8_t chain[SEGMENT_HASH_SIZE]; /* the last record's hash */
    journal_mark_t mark;              /* where the last record begins */
    buffer_t window;                  /* owned; bytes of the segment */
    size_t window_used;               /* bytes of the window before `at` */
} segment_cursor_t;

/* Makes a cursor that is in no segment yet. `folder` is borrowed; `key` as for
 * segment_key_set. */
void segment_cursor_init(segment_cursor_t *self, const char *folder,
                         const uint8_t *key);
void segment_cursor_clear(segment_cursor_t *self);

/* Goes to the first record of a segment; takes *fd. */
void segment_cursor_enter(segment_cursor_t *self, int *fd,
                          const segment_header_t *header);
/* Goes to a marked record of the segment that it is in. */
void segment_cursor_seek(segment_cursor_t *self, const journal_mark_t *mark);

/* Passes a record, which is lent until the next call. Returns 1; 0 if the file
 * ends before the record does; -EBADMSG if it is not what was written. */
int segment_cursor_next(segment_cursor_t *self, stored_record_t *ret_entry,
                        fault_t *fault);
/* Checks that all of the segment was read, and that `next` is the header of the
 * one after it. Returns -EBADMSG if bytes or records are left or missing. */
int segment_cursor_check_end(const segment_cursor_t *self,
                             const segment_header_t *next, fault_t *fault);

#endif
