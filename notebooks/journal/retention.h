/* Keeps a journal below its bound. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_RETENTION_H
#define HEARTH_NOTEBOOKS_JOURNAL_RETENTION_H

#include "notebooks/journal/writer.h"

/* Brings the journal below its bound again. It fails quietly: the record is
 * written, and the next attempt comes when another segment's worth is there. */
void journal_keep_bound(journal_t *self);

#endif
