/* JSON that a client sent, read as a tree, with one sentence for each way in
 * which it is wrong. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_JSON_BODY_H
#define HEARTH_GATEWAY_HTTP_CORE_JSON_BODY_H

#include "base/fault.h"

#include <jansson.h>
#include <stddef.h>

/* Returns the value, which the caller owns. NULL if it cannot be read; the
 * fault says where and why, after `not_json` if the bytes are not JSON. */
json_t *json_body_read(const void *bytes, size_t size, const char *not_json,
                       fault_t *fault);

#endif
