/* The requests that a client may send that may only observe a session, and the
 * error reply to all others. All ways of observing share these rules. Pure. */
#ifndef HEARTH_PROTOCOL_OBSERVER_RULES_H
#define HEARTH_PROTOCOL_OBSERVER_RULES_H

#include "base/buffer.h"

#include <stdbool.h>

#define OBSERVER_RULES_TYPE_SIZE 80

/* Returns true if a request of this type runs no code and changes nothing. */
bool observer_rules_is_needless(const char *type);
/* Writes "execute_reply" for "execute_request"; returns false if there is no
 * reply (comm_msg and similar). */
bool observer_rules_type(const char *type,
                         char ret_type[OBSERVER_RULES_TYPE_SIZE]);
/* Writes the content of the reply, and of the error on iopub. `ename` needs no
 * escaping. */
void observer_rules_write(buffer_t *out, const char *ename,
                          const char *sentence);

#endif
