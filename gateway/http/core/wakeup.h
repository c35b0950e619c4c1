/* A moment at which a part of HTTP's thread goes on, when the next tick of a
 * second would be late. Owned by that part; one thread. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_WAKEUP_H
#define HEARTH_GATEWAY_HTTP_CORE_WAKEUP_H

#include "gateway/http/core/exchange.h"

#include <libwebsockets.h>
#include <stdint.h>

typedef void wakeup_fn(void *arg);

/* All zero: none is set. Must stay at its address while one is set. */
typedef struct {
    lws_sorted_usec_list_t entry; /* in the list of libwebsockets */
    wakeup_fn *fn;
    void *arg; /* borrowed */
} wakeup_t;

/* Calls `fn` once, that many ms from now, in the place of what was set before.
 */
void wakeup_set(wakeup_t *self, const exchange_t *exchange, int64_t ms,
                wakeup_fn *fn, void *arg);
/* Takes back what was set. */
void wakeup_cancel(wakeup_t *self);

#endif
