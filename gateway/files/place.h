/* Files and trees of files that come into a workspace from outside: their path,
 * the folders above it, and whether there is room for all. */
#ifndef HEARTH_GATEWAY_FILES_PLACE_H
#define HEARTH_GATEWAY_FILES_PLACE_H

#include "gateway/files/file_ops.h"

/* Looks whether something may come to the `path` of the request's content: a
 * tree, or a file. Makes nothing. Refuses what place_file and place_tree would
 * refuse for the path, and a workspace without room for the smallest file.
 * Permits what they refuse for a moment alone: too many copies. */
int place_probe(files_thread_t *self, const file_request_t *request,
                bool is_tree, fault_t *fault);
/* Begins to copy a file, which is taken, to the `path` of the request's
 * content. Its folders are made. `details` and `journaled` of the content are
 * further members of the records (file_event_t). Returns FILES_LATER, or a
 * fault. */
int place_file(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault);
/* Begins to make the tree of a tree file, which is taken, at the `path` of the
 * request's content (tree_copy.h). `usage` of the content announces the bytes
 * of all its files, and its entries. Else like place_file. */
int place_tree(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault);

#endif
