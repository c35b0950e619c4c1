/* Positions in a session's journal, so that reading can continue without
 * starting at the beginning: the last record that was read, and the last
 * requests that were read. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_INDEX_H
#define HEARTH_NOTEBOOKS_JOURNAL_INDEX_H

#include "notebooks/journal/reader.h"

#define JOURNAL_INDEX_REQUESTS 64

typedef struct {
    journal_mark_t tail; /* of the last record; segment 0: none yet */
    struct {
        uint64_t number;                /* 0: free */
        journal_mark_t mark;            /* segment 0: there is no record */
    } requests[JOURNAL_INDEX_REQUESTS]; /* a ring */
    size_t request_at;                  /* the ring's next place */
} journal_index_t;

/* Remembers the record that `reader` has lent. */
void journal_index_note(journal_index_t *self, const journal_reader_t *reader,
                        const journal_record_t *record);

/* Opens a reader for records after `since`; its first records may be older. */
int journal_index_open(const journal_index_t *self, const char *folder,
                       const uint8_t *key, uint64_t since,
                       journal_reader_t **ret_reader, fault_t *fault);

/* Finds the record of a request, lent until the reader's next one. If no
 * position is remembered, the journal is read once from its beginning; a
 * request that was not found is remembered, too. Only for requests of which a
 * record was read. */
bool journal_index_find_request(journal_index_t *self, const char *folder,
                                const uint8_t *key, uint64_t number,
                                journal_reader_t **ret_reader,
                                journal_record_t *ret_record);

#endif
