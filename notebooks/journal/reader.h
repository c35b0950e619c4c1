/* Reads the records of a journal. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_READER_H
#define HEARTH_NOTEBOOKS_JOURNAL_READER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <stdbool.h>

/* Reads from any process, during writing or later: records with seq > since, in
 * order. */
typedef struct journal_reader journal_reader_t;
int journal_reader_new(const char *folder, const uint8_t *key, uint64_t since,
                       journal_reader_t **ret_reader, fault_t *fault);
void journal_reader_destroy(journal_reader_t **self_p);
#define cleanup_journal_reader CLEANUP(journal_reader_destroy)

/* Goes to the front of one of the newest segments, so that about `bytes_max`
 * bytes are left to read. All of the newest segment is read in any case. */
int journal_reader_skip_to_recent(journal_reader_t *self, uint64_t bytes_max,
                                  fault_t *fault);

/* Returns the position of the record that was lent last. */
journal_mark_t journal_reader_mark(const journal_reader_t *self);
/* Makes the marked record the next one. Then -ENOENT or -EBADMSG: a compaction
 * has moved it. */
int journal_reader_seek(journal_reader_t *self, const journal_mark_t *mark,
                        fault_t *fault);
/* Goes to the beginning of a segment, to read the records after `since`. */
int journal_reader_enter(journal_reader_t *self, uint64_t segment,
                         uint64_t since, fault_t *fault);

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
