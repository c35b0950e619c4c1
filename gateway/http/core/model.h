/* JSON objects that the registry and the thread for files answer with, and
 * models that are sent in pieces. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_MODEL_H
#define HEARTH_GATEWAY_HTTP_CORE_MODEL_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdbool.h>

/* Returns the member's text, lent, or "" if it is no text. */
const char *model_text(const json_t *object, const char *name);
/* Returns true if a session, as the registry shows it, is gone. */
bool model_is_gone(const json_t *session);
/* Returns the session of a reply, lent, or NULL if it has another id: the
 * registry takes the beginning of an id for the whole. */
const json_t *model_asked(const json_t *reply, const char *id);
/* Appends the object as far as its last member, whose value follows:
 * `{…,"content":`. A member of that name goes. */
void model_begin_content(json_t *object, buffer_t *out);

#endif
