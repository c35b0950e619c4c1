/* HTML of a recording with what its outputs have of scripts, by way of
 * nbconvert. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_NBCONVERT_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_NBCONVERT_H

#include "gateway/cli/recordings/recordings.h"

/* Writes the page to the file, or to standard output when it is NULL, and says
 * what is wrong. */
gateway_exit_t nbconvert_export(const recordings_t *session,
                                const char *output);

#endif
