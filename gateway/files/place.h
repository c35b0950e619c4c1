/* What comes from outside into a workspace, a file or a tree of files: its
 * path, the folders above it, and whether there is room for all. */
#ifndef HEARTH_GATEWAY_FILES_PLACE_H
#define HEARTH_GATEWAY_FILES_PLACE_H

#include "gateway/files/file_ops.h"

/* Begins to copy a file, which is taken, to the `path` of the request's
 * content. Its folders are made. `details` and `journaled` of the content are
 * further members of the records (file_event_t). Returns FILES_LATER, or a
 * fault. */
int place_file(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault);

#endif
