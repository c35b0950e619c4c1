/* Finds a session's recording in the state folder by the session's id, and
 * reads it without a gateway. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_RECORDINGS_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_RECORDINGS_H

#include "gateway/cli/core/command.h"
#include "notebooks/formats/redact.h"
#include "notebooks/recording/recording.h"

typedef struct {
    char *id;       /* owned; of the session */
    char *folder;   /* owned; the session's state */
    char *journal;  /* owned; the journal's folder */
    uint8_t *key;   /* owned; LOG_KEY_SIZE bytes, key of the journals */
    redact_t *mask; /* owned, or NULL */
    recording_options_t options; /* made of the other members */
} recordings_t;

void recordings_clear(recordings_t *self);
#define cleanup_recordings CLEANUP(recordings_clear)

/* Finds the one session whose id begins with `prefix`. Prints what is wrong. */
gateway_exit_t recordings_find(const options_t *options, const char *prefix,
                               recordings_t *ret_recordings);
/* Returns the id of the one session of that name, owned by the caller. NULL if
 * no session or several have it, or an id begins so. */
char *recordings_id_of_name(const options_t *options, const char *name);
/* Reads only the journals' key and the mask, without a session. */
gateway_exit_t recordings_key(const options_t *options,
                              recordings_t *ret_recordings);

/* Reads a notebook from a file or from a session's recording. A name with a
 * slash or a dot is a file. A damaged recording is reported and read as far as
 * possible. */
gateway_exit_t recordings_notebook(const options_t *options, const char *name,
                                   notebook_t *ret_notebook);
bool recordings_is_file(const char *name);
/* Reads like recordings_notebook, but loads a file's outputs cell by cell
 * (notebook_cell_load). */
gateway_exit_t recordings_open(const options_t *options, const char *name,
                               notebook_t *ret_notebook);

#endif
