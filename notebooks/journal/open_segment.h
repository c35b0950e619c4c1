/* The files that a journal's writer has open: the folder, the segment that
 * grows, and the note of its end. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_OPEN_SEGMENT_H
#define HEARTH_NOTEBOOKS_JOURNAL_OPEN_SEGMENT_H

#include "notebooks/journal/state.h"

/* Sets a fault about something in the folder; returns -code. */
int journal_fail(journal_t *self, int code, const char *what, fault_t *fault);
/* Opens and locks the folder. -EBUSY if another program writes the journal. */
int journal_open_folder(journal_t *self, fault_t *fault);
/* Closes the files, and notes first how far the journal goes. */
void journal_close_files(journal_t *self);
/* Begins a segment after the last record; `previous` is the hash that it
 * continues. */
int journal_begin_segment(journal_t *self, uint64_t number,
                          const uint8_t previous[SEGMENT_HASH_SIZE],
                          fault_t *fault);
/* Closes the open segment and begins the next one. */
int journal_rotate(journal_t *self, fault_t *fault);
/* Notes how far the journal goes. */
void journal_note_head(journal_t *self);

#endif
