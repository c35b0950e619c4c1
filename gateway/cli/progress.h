/* How far a copy has come, for a person: one line on standard error, drawn
 * anew at most ten times a second, and only when that is a terminal. */
#ifndef HEARTH_GATEWAY_CLI_PROGRESS_H
#define HEARTH_GATEWAY_CLI_PROGRESS_H

#include "base/cleanup.h"

#include <stdint.h>

typedef struct progress progress_t;

/* `name` is text without controls (name_escape). `total` 0: not known. */
progress_t *progress_new(const char *name, uint64_t total);
/* The line is complete, or taken away when the copy failed (not at the end
 * of `total`). */
void progress_destroy(progress_t **self_p);
#define cleanup_progress CLEANUP(progress_destroy)

/* So many bytes are done. */
void progress_show(progress_t *self, uint64_t done);

/* "12.3 MiB"; lent until the fourth call after this one. */
const char *progress_size(uint64_t bytes);

#endif
