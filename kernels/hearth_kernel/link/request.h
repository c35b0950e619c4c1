/* A request, copied from the wire, and the row in which requests wait. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_REQUEST_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_REQUEST_H

#include "base/cleanup.h"
#include "protocol/frame.h"

typedef struct request request_t;

request_t *request_new(const frame_t *frame);
void request_destroy(request_t **self_p);
#define cleanup_request CLEANUP(request_destroy)
const frame_t *request_frame(const request_t *self);

/* Plain data; first in, first out. */
typedef struct {
    request_t *first; /* owned */
    request_t *last;  /* borrowed from the row */
} request_row_t;

void request_row_put(request_row_t *self, request_t **request_p);
/* The first, or NULL. */
request_t *request_row_take(request_row_t *self);

#endif
