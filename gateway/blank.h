/* The folders of the session that is forked next, made while nobody waits: a
 * new file or folder can take half a millisecond (ext4 looks for an inode that
 * was not given back of late), giving it another name takes a thirtieth. */
#ifndef HEARTH_GATEWAY_BLANK_H
#define HEARTH_GATEWAY_BLANK_H

#include "base/cleanup.h"

#include <stdbool.h>

typedef struct blank blank_t;

/* Nothing is there yet; what an earlier gateway left is removed. */
blank_t *blank_new(const char *runtime_dir, const char *state_dir);
void blank_destroy(blank_t **self_p);
#define cleanup_blank CLEANUP(blank_destroy)

bool blank_is_there(const blank_t *self);
/* Quietly: whoever finds none makes the folders and hears what is wrong. */
void blank_make(blank_t *self);
/* The folders get these names; in the second one is `workspace`. False when
 * there were none: nothing is there then. */
bool blank_take(blank_t *self, const char *runtime_folder,
                const char *state_folder);

#endif
