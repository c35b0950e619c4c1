/* A tree of files from outside (workspace/tree_reader.h) on its way into a
 * workspace: made in a hidden folder (hidden_folder.h), which gets its name
 * when all is whole. It has the workspace's owner; folders have mode 0755,
 * files 0644 or 0755.
 *
 * The session may change everything there meanwhile. Nothing is made outside of
 * the folder that was made first, wherever the session moves that, and no entry
 * is made over another one: that ends the copy. */
#ifndef HEARTH_GATEWAY_FILES_TREE_COPY_H
#define HEARTH_GATEWAY_FILES_TREE_COPY_H

#include "gateway/files/copies.h"

/* A tree to be made; members are borrowed. */
typedef struct {
    int root;             /* the workspace */
    const char *path;     /* of the new folder; bytes */
    usage_t announced;    /* the bytes of all files, and the entries: the most
                             that is made */
    uint64_t new_parents; /* folders above the path that were made for it */
} tree_copy_plan_t;

/* Begins to make the tree of the file, which is taken. *ret_work is the work of
 * tree_copy_kind. */
int tree_copy_new(const tree_copy_plan_t *plan, int *file_p, void **ret_work,
                  fault_t *fault);

extern const copies_kind_t tree_copy_kind;

#endif
