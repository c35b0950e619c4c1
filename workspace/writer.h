/* A file on its way into a workspace: written where no name leads to it, and
 * given its name when all is there. Whoever looks sees the old file or the
 * whole new one. Owned by the workspace's owner. */
#ifndef HEARTH_WORKSPACE_WRITER_H
#define HEARTH_WORKSPACE_WRITER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "workspace/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct writer writer_t;

/* `replaces`: a file (or a link, which is not followed) of that name makes
 * room; else -EEXIST, now or at the end. */
int writer_new(int root, const char *path, bool replaces, writer_t **ret_writer,
               fault_t *fault);
/* Without writer_commit nothing is left of it. */
void writer_destroy(writer_t **self_p);
#define cleanup_writer CLEANUP(writer_destroy)

/* How much is there: where the next piece belongs. */
uint64_t writer_size(const writer_t *self);
int writer_write(writer_t *self, const void *bytes, size_t size,
                 fault_t *fault);
/* So many zeros that take no room. */
int writer_skip(writer_t *self, uint64_t size, fault_t *fault);
/* The name; nothing can be written afterwards. */
int writer_commit(writer_t *self, fault_t *fault);
/* What the commit took the place of: nothing, or one file of so many bytes on
 * disk. */
usage_t writer_replaced(const writer_t *self);

#endif
