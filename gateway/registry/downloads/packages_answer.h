/* Reads the messages of a packages worker (download_process.h), which may be
 * hostile: a datagram is either a word of progress, or its one answer. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_ANSWER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PACKAGES_ANSWER_H

#include "base/bytes.h"

#include <jansson.h>

#define DOWNLOAD_DATAGRAM_MAX  (64u << 10) /* bytes, in either direction */
#define DOWNLOAD_PROGRESS_SIZE 200         /* bytes of it that are kept */

/* Returns the answer as a reply of the management protocol, which the caller
 * owns; an error if the datagram is not valid. Returns NULL after a word of
 * progress; *ret_progress is then a copy of it without controls. */
json_t *packages_answer_read(bytes_t said,
                             char ret_progress[DOWNLOAD_PROGRESS_SIZE]);

/* Returns the error PackagesFailed; the caller owns it. */
json_t *packages_answer_failed(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
