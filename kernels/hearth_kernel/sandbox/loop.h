/* The zygote's loop: reads requests, launches, answers. It touches no object of
 * Python's: each page that a zygote writes to leaves its old copy to every
 * kernel that was forked before. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_LOOP_H
#define HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_LOOP_H

#include "base/fault.h"
#include "kernels/zygote_request.h"
#include "protocol/limits.h"
#include "sandbox/launch/launch.h"

#include <stddef.h>

/* The data of one launch, which its payload keeps. */
typedef struct {
    zygote_request_t request;
    zygote_request_texts_t texts; /* of `datagram` */
    int link_fd, status_fd;
    int init_fd; /* for sandbox_await_init */
    char datagram[ZYGOTE_DATAGRAM_MAX];
} loop_t;

/* Serves the SOCK_SEQPACKET socket. Returns 0 when the gateway has closed its
 * end. Returns 1 in each payload, with its request. Returns -EPROTO if a
 * request cannot be read, -ECHILD if the mapper has gone, -errno if no answer
 * can be sent. `mapper_fd` as in sandbox_launch_t. Meanwhile the caller's
 * children are reaped. */
int loop_run(loop_t *self, const sandbox_t *sandbox, int gateway_fd,
             int mapper_fd, fault_t *fault);

#endif
