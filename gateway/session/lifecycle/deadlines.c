/* See deadlines.h. */
#include "gateway/session/lifecycle/deadlines.h"

int64_t deadlines_left(int64_t whole_ms, int64_t begun_us, int64_t now_us)
{
    int64_t left_ms = whole_ms - (now_us - begun_us) / 1000;

    if (!begun_us || left_ms > whole_ms)
        return whole_ms;
    return left_ms > 0 ? left_ms : 1;
}

int64_t deadlines_cell_limit(int64_t own_ms, int64_t session_ms)
{
    return own_ms ? own_ms : session_ms;
}

int64_t deadlines_active(int64_t begun_us, int64_t output_us, int64_t until_us)
{
    if (output_us > until_us)
        output_us = until_us;
    return output_us > begun_us ? output_us : begun_us;
}

int64_t deadlines_expiry(int64_t active_us, int64_t timeout_ms,
                         bool is_counting)
{
    return timeout_ms && is_counting ? active_us + timeout_ms * 1000 : 0;
}
