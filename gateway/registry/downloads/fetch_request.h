/* Reads a request for a fetch, of a client or of code. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_REQUEST_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_REQUEST_H

#include "gateway/registry/downloads/download_answer.h"

#include <jansson.h>

/* Returns NULL if the request is one for a fetch. *ret_kind is then what it
 * asks for, and *ret_path the path of the file or the folder that it makes, as
 * text, which the caller owns. Else returns the error, which the caller owns,
 * with the other two unchanged. */
json_t *fetch_request_read(const json_t *content,
                           const download_kind_t **ret_kind, char **ret_path);
/* Returns the error for a request that is none; the caller owns it. */
json_t *fetch_request_bad(const char *flaw);
/* Returns the kind that the content names; NULL if it names none that is. */
const download_kind_t *fetch_request_kind(const json_t *content);

#endif
