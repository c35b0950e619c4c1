/* The list of all that a session got from outside, as its journal says:
 * packages, files and repositories. A replay brings the same. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_DOWNLOADS_H
#define HEARTH_NOTEBOOKS_RECORDING_DOWNLOADS_H

#include "base/cleanup.h"
#include "notebooks/journal/record.h"

#include <jansson.h>

/* The members of a notebook's metadata; NULL at the end. */
extern const char *const downloads_members[];

typedef struct {
    json_t *packages;     /* owned; array of the last answer, or NULL */
    json_t *preinstalled; /* owned; array of the last kernel's, or NULL */
    json_t *places;       /* owned; path -> file or repository, or NULL */
    json_t *calls; /* owned; seq -> name of a call that is open, or NULL */
} downloads_t;

void downloads_clear(downloads_t *self);

/* Takes a state record, with its content. Others than of downloads change
 * nothing. */
void downloads_add(downloads_t *self, const journal_record_t *record,
                   const json_t *content);
/* Adds `packages`, `preinstalled`, `files` and `repositories` to a notebook's
 * metadata, each only if there are any. */
void downloads_write(const downloads_t *self, json_t *own);

/* Takes from a client's call what a notebook does not show: all of its URL that
 * may be secret. `url_cut` in the call says that it was taken. */
void downloads_hide(json_t *call);

#endif
