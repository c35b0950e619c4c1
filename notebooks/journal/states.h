/* The states that a session's journal has, and which of them stay when their
 * segment is emptied (compaction.h). A state that passes is worth nothing to a
 * gateway that takes the session over, or can be written without end. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_STATES_H
#define HEARTH_NOTEBOOKS_JOURNAL_STATES_H

#include <stdbool.h>

/* Returns true if the table has that state. One that it does not have is of
 * another version. */
bool journal_state_is_known(const char *type);
/* Returns true if that state stays; an unknown one does. */
bool journal_state_lasts(const char *type);

#endif
