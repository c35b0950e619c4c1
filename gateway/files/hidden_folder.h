/* A folder on its way to its name in a workspace: filled under a hidden name
 * beside its place, `.hearth-clone-` and 16 hexadecimal digits.
 *
 * The session reaches it and may change everything there. After a failure it is
 * removed, a part at a time. A gateway that is killed leaves it, and so does
 * the end of the thread if it is too large (copies_destroy): it belongs to the
 * session, counts for its limits, and can be removed like any other. No later
 * gateway removes it, because a session can make folders of such names, too. */
#ifndef HEARTH_GATEWAY_FILES_HIDDEN_FOLDER_H
#define HEARTH_GATEWAY_FILES_HIDDEN_FOLDER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "workspace/usage.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct hidden_folder hidden_folder_t;

/* Returns -EEXIST or -ENOTEMPTY if something is at the path that may not be
 * replaced: all but an empty folder. */
int hidden_folder_check_target(int root, const char *path, fault_t *fault);

/* Makes the folder, with the workspace's owner and mode 0755. `new_parents` is
 * how many folders above the path were made for it. */
int hidden_folder_new(int root, const char *path, uint64_t new_parents,
                      hidden_folder_t **ret_folder, fault_t *fault);
/* Leaves the folder as it is. */
void hidden_folder_destroy(hidden_folder_t **self_p);
#define cleanup_hidden_folder CLEANUP(hidden_folder_destroy)

/* Return the descriptors of the folder and of the workspace, borrowed. */
int hidden_folder_fd(const hidden_folder_t *self);
int hidden_folder_root(const hidden_folder_t *self);

/* Gives the folder its name, in the place of nothing or of an empty folder.
 * -ESTALE if the session has moved it, or the folder in which it is. */
int hidden_folder_give_name(hidden_folder_t *self, fault_t *fault);
/* Returns the usage of the empty folder that was replaced; 0 if there was none.
 */
usage_t hidden_folder_replaced(const hidden_folder_t *self);
/* Removes a part of the folder, unless it has its name. Returns true when it is
 * gone with its new parents, as far as those are empty, or when the session
 * keeps it full: `entries` were made in it. */
bool hidden_folder_undo(hidden_folder_t *self, uint64_t entries);

#endif
