/* The parts of the record that a reader lends: spilled ones are loaded from
 * their files. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_LENT_PARTS_H
#define HEARTH_NOTEBOOKS_JOURNAL_LENT_PARTS_H

#include "notebooks/journal/segment.h"

typedef struct {
    buffer_t *loaded;   /* owned; spilled parts, by their place */
    size_t loaded_max;  /* room in `loaded` */
    bytes_t *buffers;   /* owned; the record's list of buffers */
    size_t buffers_max; /* room in `buffers` */
} lent_parts_t;

void lent_parts_clear(lent_parts_t *self);
/* Gives up the memory of spilled parts: one may be big. */
void lent_parts_forget(lent_parts_t *self);

/* Returns the record with its parts, lent until the next call. -ENOENT if the
 * file of a spilled part is no longer in the folder. */
int lent_parts_load(lent_parts_t *self, int folder,
                    const stored_record_t *entry, journal_record_t *ret_record,
                    fault_t *fault);

#endif
