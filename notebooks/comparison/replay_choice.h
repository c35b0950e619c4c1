/* Which cells of a notebook are run again. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_REPLAY_CHOICE_H
#define HEARTH_NOTEBOOKS_COMPARISON_REPLAY_CHOICE_H

#include "notebooks/comparison/replay.h"

/* Finds the code cell with this number ("3") or id. -ENOENT if there is
 * none. */
int replay_find(const notebook_t *notebook, const char *name,
                size_t *ret_number, fault_t *fault);
/* Returns why the cell is left out, lent; NULL if it is run. */
const char *replay_skips(const notebook_cell_t *cell,
                         const replay_options_t *options);

/* The note ("hearth" in the metadata) of cells that a revival leaves out. An
 * earlier revival has run them, and did not get to its end. */
#define REPLAY_BROKEN_OFF "broken_off"
/* Likewise, of notes: an earlier revival that got to its end has made what they
 * have again, and has notes of its own of it. */
#define REPLAY_REPEATED "repeated"

/* Returns the number of code cells. */
size_t replay_count(const notebook_t *notebook);
/* Returns false if the cell was never run, or its outputs were removed from the
 * file. */
bool replay_is_recorded(const notebook_cell_t *cell);
/* Returns the name of the error that is recorded, or "". */
const char *replay_recorded_error(const notebook_cell_t *cell);

#endif
