/* Shows a person the progress of a copy: one line on standard error, redrawn at
 * most ten times a second, on a terminal; or a few lines without one. */
#ifndef HEARTH_GATEWAY_CLI_CORE_PROGRESS_H
#define HEARTH_GATEWAY_CLI_CORE_PROGRESS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct progress progress_t;

/* Begins a line. `name` is text without controls (name_escape). `total` 0:
 * unknown. */
progress_t *progress_new(const char *name, uint64_t total);
/* Ends the line, or removes it if the copy failed before `total`. */
void progress_destroy(progress_t **self_p);
#define cleanup_progress CLEANUP(progress_destroy)

/* Has lines printed without a terminal: from the first second on, fewer as time
 * passes. */
void progress_say_lines(progress_t *self);
/* Returns true if progress_show would show something now: how far the copy has
 * come need not be asked otherwise. */
bool progress_is_due(const progress_t *self);
/* Begins to count anew, with the next line due as late as after a printed one.
 */
void progress_put_off(progress_t *self);
/* Gives the line another name. */
void progress_name(progress_t *self, const char *name);
/* Says how many bytes there are in all, once that is known. */
void progress_expect(progress_t *self, uint64_t total);
/* Shows that `done` bytes are copied. */
void progress_show(progress_t *self, uint64_t done);

typedef struct {
    char text[24];
} progress_size_t;
/* Writes "12.3 MiB"; returns the text. */
const char *progress_write_size(progress_size_t *self, uint64_t bytes);
/* Writes a size in storage that lasts as long as the block where it is written.
 */
#define progress_size(bytes)                                                   \
    progress_write_size(&(progress_size_t){{0}}, (bytes))

#endif
