/* A file of a workspace on its way out: read in pieces of the length that it
 * had when it was opened, and never as a mixture of two states. A change of
 * inode, size, mtime or ctime meanwhile is a failure. (A store through a
 * mapping into a page that is dirty already changes none of them; nobody
 * outside can see it.) */
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
    uint64_t hole; /* or so many zeros that the file does not store */
} piece_t;

/* `may_grow`: what is appended meanwhile is left out and told of by
 * reader_has_grown, instead of being a failure. */
int reader_new(int root, const char *path, bool may_grow, reader_t **ret_reader,
               fault_t *fault);
void reader_destroy(reader_t **self_p);
#define cleanup_reader CLEANUP(reader_destroy)

/* The length that will be read, and the rest. Lent. */
const struct stat *reader_status(const reader_t *self);
/* From `offset` on at most `max` bytes, or a hole. Neither: the end. -ESTALE
 * when the file has changed. */
int reader_read(reader_t *self, uint64_t offset, void *bytes, size_t max,
                piece_t *ret_piece, fault_t *fault);
bool reader_has_grown(const reader_t *self);

#endif
