/* Appends records to a journal. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_APPEND_H
#define HEARTH_NOTEBOOKS_JOURNAL_APPEND_H

#include "notebooks/journal/writer.h"

/* Appends a record by one write(2). When it returns, the record survives the
 * gateway's death (not the machine's). record->seq is set. On failure (-ENOSPC
 * …) nothing was added and the caller may try again. */
int journal_append(journal_t *self, journal_record_t *record, fault_t *fault);

#endif
