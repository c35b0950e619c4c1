/* Reads the messages of a packages worker (packages_process.h), which may be
 * hostile: a datagram is either a word of progress, or its one answer. */
#ifndef HEARTH_GATEWAY_REGISTRY_PACKAGES_PACKAGES_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_PACKAGES_PACKAGES_ANSWER_H

#include "base/bytes.h"

#include <jansson.h>

#define PACKAGES_DATAGRAM_MAX  (64u << 10) /* bytes, in either direction */
#define PACKAGES_PROGRESS_SIZE 200         /* bytes of it that are kept */

/* Returns the answer as a reply of the management protocol, which the caller
 * owns; an error if the datagram is not valid. Returns NULL after a word of
 * progress; *ret_progress is then a copy of it without controls. */
json_t *packages_answer_read(bytes_t said,
                             char ret_progress[PACKAGES_PROGRESS_SIZE]);

/* Returns the error PackagesFailed; the caller owns it. */
json_t *packages_answer_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
