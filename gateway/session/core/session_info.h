/* A session as the management protocol shows it ("session" there). */
#ifndef HEARTH_GATEWAY_SESSION_CORE_SESSION_INFO_H
#define HEARTH_GATEWAY_SESSION_CORE_SESSION_INFO_H

#include "gateway/session/core/session.h"

struct json_t; /* jansson, whose macros do not go with protocol/jspan.h */

/* Returns an object, which is the caller's. */
struct json_t *session_info_of(const session_t *self);
/* Does the same with data that has to be looked for in /proc. */
struct json_t *session_info_measured(const session_t *self);

#endif
