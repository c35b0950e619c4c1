/* JSON that a client sent, read as a tree, with one sentence for each way in
 * which it is wrong. */
#ifndef HEARTH_GATEWAY_CONFIG_JSON_TEXT_H
#define HEARTH_GATEWAY_CONFIG_JSON_TEXT_H

#include "base/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Returns the value, which the caller owns. NULL if it cannot be read; the
 * fault says where and why, after `not_json` if the bytes are not JSON. */
json_t *json_text_read(const void *bytes, size_t size, const char *not_json,
                       fault_t *fault);
/* Returns true for a text without NUL, so that its C string is all of it. Code
 * in a kernel can send one that has a NUL. */
bool json_text_is_whole(const json_t *value);
/* Returns an array of the texts, which end with NULL; the caller owns it. NULL
 * has none. */
json_t *json_text_list(char *const *texts_or_null);

#endif
