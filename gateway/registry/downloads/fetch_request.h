/* Reads a request for a fetch, of a client or of code. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_REQUEST_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_REQUEST_H

#include "gateway/registry/downloads/download_answer.h"

#include <jansson.h>
#include <stdbool.h>

/* Sets the kind of what is asked for, and the path of the file or folder to be
 * made, as text, which the caller owns. If the request is wrong they are
 * unchanged, and the error is returned, which the caller owns; else NULL. */
json_t *fetch_request_read(const json_t *content,
                           const download_kind_t **ret_kind, char **ret_path);
/* Returns true if that is asked for, too, with a repository: "lfs", the
 * contents of Git LFS, or "submodules". */
bool fetch_request_has(const json_t *content, const char *what);
/* Returns the error for a request with that flaw; the caller owns it. */
json_t *fetch_request_bad(const char *flaw);

#endif
