/* Checkpoints: one older state of a file each, for clients that save by hand.
 */
#ifndef HEARTH_GATEWAY_FILES_CHECKPOINT_H
#define HEARTH_GATEWAY_FILES_CHECKPOINT_H

#include "gateway/files/file_ops.h"

files_handler_t checkpoint_on_make, checkpoint_on_list, checkpoint_on_restore,
    checkpoint_on_forget;

/* Rename or remove the checkpoints of a file that is renamed or removed. */
void checkpoints_rename(const files_thread_t *self,
                        const file_request_t *request, const char *from,
                        const char *to);
void checkpoints_remove(const files_thread_t *self,
                        const file_request_t *request, const char *path);

#endif
