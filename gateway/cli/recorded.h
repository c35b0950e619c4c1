/* A session's recording in the state folder: found by its id, read without a
 * gateway. */
#ifndef HEARTH_GATEWAY_CLI_RECORDED_H
#define HEARTH_GATEWAY_CLI_RECORDED_H

#include "gateway/cli/command.h"
#include "notebooks/mask.h"
#include "notebooks/recording.h"

typedef struct {
    char *id;      /* owned; the session's */
    char *folder;  /* owned; its state */
    char *journal; /* owned; the journal's folder */
    uint8_t *key;  /* owned; CHAIN_KEY_SIZE bytes, of the journals */
    mask_t *mask;  /* owned, or NULL */
    recording_options_t options; /* made of the others */
} recorded_t;

void recorded_clear(recorded_t *self);
#define cleanup_recorded CLEANUP(recorded_clear)

/* The one session whose id begins so. Says what is wrong. */
gateway_exit_t recorded_find(const options_t *options, const char *prefix,
                             recorded_t *ret_recorded);
/* The journals' key alone, and the mask; without a session. */
gateway_exit_t recorded_key(const options_t *options, recorded_t *ret_recorded);

/* A file, or a session's recording; which it is shows in the name: a file has
 * a slash or a dot in it. A damaged recording is told of and goes as far as it
 * goes. */
gateway_exit_t recorded_notebook(const options_t *options, const char *name,
                                 notebook_t *ret_notebook);
bool recorded_is_file(const char *name);
/* Like recorded_notebook, but a file's outputs are loaded cell by cell
 * (notebook_cell_load). */
gateway_exit_t recorded_open(const options_t *options, const char *name,
                             notebook_t *ret_notebook);

#endif
