/* Where in a session's journal things are, so that whoever reads on does not
 * read it from its front: the last record that somebody read, and the requests
 * that were read last. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_INDEX_H
#define HEARTH_NOTEBOOKS_JOURNAL_INDEX_H

#include "notebooks/journal/writer.h"

#define POSITIONS_REQUESTS 64

typedef struct {
    journal_mark_t tail; /* of the last record; segment 0: none yet */
    struct {
        uint64_t number;            /* 0: free */
        journal_mark_t mark;        /* segment 0: there is none */
    } requests[POSITIONS_REQUESTS]; /* a ring */
    size_t request_at;              /* its next place */
} positions_t;

/* Remembers the record that `reader` has lent. */
void positions_note(positions_t *self, const journal_reader_t *reader,
                    const journal_record_t *record);

/* A reader for what comes after `since`; the first records may be older. */
int positions_open(const positions_t *self, const char *folder,
                   const uint8_t *key, uint64_t since,
                   journal_reader_t **ret_reader, fault_t *fault);

/* The record of a request, lent until the reader's next one. Where none is
 * remembered the journal is read from its front, once; that there is none is
 * remembered, too. For requests of which a record was read. */
bool positions_find_request(positions_t *self, const char *folder,
                            const uint8_t *key, uint64_t number,
                            journal_reader_t **ret_reader,
                            journal_record_t *ret_record);

#endif
