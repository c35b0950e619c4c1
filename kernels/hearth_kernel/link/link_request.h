/* A request, copied from the wire, and the row in which requests wait. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_LINK_REQUEST_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_LINK_REQUEST_H

#include "base/cleanup.h"
#include "protocol/frame.h"

typedef struct link_request link_request_t;

link_request_t *link_request_new(const frame_t *frame);
void link_request_destroy(link_request_t **self_p);
#define cleanup_link_request CLEANUP(link_request_destroy)
const frame_t *link_request_frame(const link_request_t *self);

/* Plain data; first in, first out. */
typedef struct {
    link_request_t *first; /* owned */
    link_request_t *last;  /* borrowed from the row */
} request_row_t;

void request_row_put(request_row_t *self, link_request_t **request_p);
/* Returns the first request, or NULL. */
link_request_t *request_row_take(request_row_t *self);

#endif
