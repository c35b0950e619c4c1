/* A file on its way into a workspace: written where no name leads to it, and
 * given its name when it is complete. A reader sees the old file or the whole
 * new one. Owned by the workspace's owner. */
#ifndef HEARTH_WORKSPACE_WRITER_H
#define HEARTH_WORKSPACE_WRITER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "workspace/usage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct writer writer_t;

/* Begins a file. `replaces` permits a file of that name, or a link, which is
 * not followed; otherwise it is -EEXIST, now or at the commit. */
int writer_new(int root, const char *path, bool replaces, writer_t **ret_writer,
               fault_t *fault);
/* Removes the file, unless writer_commit has succeeded. */
void writer_destroy(writer_t **self_p);
#define cleanup_writer CLEANUP(writer_destroy)

/* Returns the offset of the next piece. */
uint64_t writer_size(const writer_t *self);
int writer_write(writer_t *self, const void *bytes, size_t size,
                 fault_t *fault);
/* Appends `size` zeros that take no room on disk. */
int writer_skip(writer_t *self, uint64_t size, fault_t *fault);
/* Gives the file its name; nothing can be written afterwards. */
int writer_commit(writer_t *self, fault_t *fault);
/* Returns the usage of the file that the commit replaced; 0 if there was none.
 */
usage_t writer_replaced(const writer_t *self);

#endif
