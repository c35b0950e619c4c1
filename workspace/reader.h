/* A file of a workspace on its way out: read in pieces of the length that it
 * had when it was opened, and never as a mixture of two states. A change of
 * inode, size, mtime or ctime meanwhile is a failure. A store through a mapping
 * into a page that is dirty already changes none of them, and cannot be seen.
 */
#ifndef HEARTH_WORKSPACE_READER_H
#define HEARTH_WORKSPACE_READER_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct reader reader_t;

typedef struct {
    size_t size;   /* bytes that were read */
    uint64_t hole; /* or a number of zeros that the file does not store */
} piece_t;

/* Opens a file. With `may_grow`, bytes that are appended meanwhile are left out
 * and reported by reader_has_grown; otherwise they are a failure. */
int reader_new(int root, const char *path, bool may_grow, reader_t **ret_reader,
               fault_t *fault);
/* Takes an open file that no process writes any more: only its length is
 * checked, because its names and times may change. */
int reader_new_file(int *fd_p, reader_t **ret_reader, fault_t *fault);
void reader_destroy(reader_t **self_p);
#define cleanup_reader CLEANUP(reader_destroy)

/* Returns the file's status when it was opened; it has the length that will be
 * read. Borrowed from the reader. */
const struct stat *reader_status(const reader_t *self);
/* Reads at most `max` bytes from `offset` on, or a hole; neither at the end.
 * Returns -ESTALE if the file has changed. */
int reader_read(reader_t *self, uint64_t offset, void *bytes, size_t max,
                piece_t *ret_piece, fault_t *fault);
bool reader_has_grown(const reader_t *self);

#endif
