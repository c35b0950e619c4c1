/* What somebody may send who only looks at a session, and the reply that the
 * rest gets: the same by whichever way he looks. Part of no thread. */
#ifndef HEARTH_PROTOCOL_OBSERVER_RULES_H
#define HEARTH_PROTOCOL_OBSERVER_RULES_H

#include "base/buffer.h"

#include <stdbool.h>

#define REFUSAL_TYPE_SIZE 80

/* Whether a request of this type runs no code and changes nothing. */
bool refusal_is_needless(const char *type);
/* "execute_request" -> "execute_reply"; false: it has no reply (comm_msg and
 * the like). */
bool refusal_type(const char *type, char ret_type[REFUSAL_TYPE_SIZE]);
/* Content of the reply, and of the error on iopub. `ename` is a plain word. */
void refusal_write(buffer_t *out, const char *ename, const char *sentence);

#endif
