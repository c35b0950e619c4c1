/* Appends records to a journal. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_APPEND_H
#define HEARTH_NOTEBOOKS_JOURNAL_APPEND_H

#include "notebooks/journal/writer.h"

/* Appends a record by one write(2). When it returns, the record survives the
 * gateway's death (not the machine's). record->seq is set. On failure (-ENOSPC
 * …) nothing was added and the caller may try again. */
int journal_append(journal_t *self, journal_record_t *record, fault_t *fault);
/* Appends records in their order, small ones together by one write(2). On
 * failure the first *ret_written were added, and no other. */
int journal_append_all(journal_t *self, journal_record_t *records, size_t count,
                       size_t *ret_written, fault_t *fault);

#endif
