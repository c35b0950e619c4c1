/* See wakeup.h. */
#include "gateway/http/core/wakeup.h"

#include <stddef.h>

static void on_time(lws_sorted_usec_list_t *entry)
{
    wakeup_t *self =
        (wakeup_t *) (void *) ((char *) entry - offsetof(wakeup_t, entry));

    self->fn(self->arg);
}

void wakeup_set(wakeup_t *self, const exchange_t *exchange, int64_t ms,
                wakeup_fn *fn, void *arg)
{
    self->fn = fn;
    self->arg = arg;
    lws_sul_schedule(lws_get_context(exchange->wsi), 0, &self->entry, on_time,
                     ms * LWS_US_PER_MS);
}

void wakeup_cancel(wakeup_t *self)
{
    lws_sul_cancel(&self->entry);
}
