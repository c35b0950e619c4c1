/* The names of a session's limits. Plain data. */
#include "protocol/session_limits.h"

const session_limit_t session_limits[SESSION_LIMIT_COUNT] = {
#define X(name, kind, min, max, zero, number, text, reached, help)             \
    {#name, reached},
    SESSION_LIMITS(X)
#undef X
};
