/* What a gateway orders of a zygote that is warm, and what it answers
 * (docs/PROTOCOL.zygote.md): flat, so that the zygote reads and writes them
 * without touching an object of Python's. In the machine's own order of bytes,
 * since both ends are on one machine. */
#ifndef HEARTH_KERNELS_ORDER_H
#define HEARTH_KERNELS_ORDER_H

#include "base/buffer.h"
#include "base/fault.h"
#include "sandbox/sandbox.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the whole protocol. First in each datagram, and never the brace with
 * which JSON begins. */
#define ORDER_PROTOCOL 5

/* Descriptors that go with an order, in this order; behind them those of the
 * control group. */
#define ORDER_FDS 4

/* A kernel to be forked. Behind it in its datagram stand texts, each with a
 * NUL: the name of the host inside, then of each variable of the kernel's
 * environment its name and its value. */
typedef struct {
    uint32_t protocol;           /* ORDER_PROTOCOL: order_encode sets it */
    uint32_t has_cgroup_folder;  /* 1: the group's descriptor is a folder */
    uint64_t number;             /* comes back in the answer */
    uint32_t host_uid, host_gid; /* as in sandbox_launch_t */
    uint32_t init_uid, init_gid;
    uint32_t orphan_seconds;
    uint32_t reserved; /* 0 */
    uint64_t retain;   /* bytes of events that the kernel keeps */
    sandbox_limits_t limits;
} order_t;

typedef struct {
    uint32_t protocol; /* ORDER_PROTOCOL */
    int32_t pid;       /* of pid 1 on the host; 0: it failed */
    uint64_t number;   /* the order's */
    int32_t processor; /* on which the payload was made; negative: unknown */
    uint32_t reserved; /* 0 */
    fault_t fault;     /* why it failed */
} order_answer_t;

/* Puts an order into an empty buffer, with the host's name; then each
 * variable. Nothing is bounded here: who sends compares with ORDER_MAX. */
void order_encode(const order_t *self, const char *hostname, buffer_t *out);
void order_add_variable(buffer_t *out, const char *name, const char *value);

/* The texts of a datagram that was decoded; they point into it. */
typedef struct {
    const char *hostname;
    const char *next; /* where order_next_variable goes on */
    const char *end;
} order_texts_t;

/* Reads a datagram of any bytes, to which the texts then belong. -EPROTO: of
 * another version, too short, or its texts are not as above. */
int order_decode(const void *bytes, size_t size, order_t *ret_order,
                 order_texts_t *ret_texts, fault_t *fault);
/* False behind the last one. */
bool order_next_variable(order_texts_t *self, const char **ret_name,
                         const char **ret_value);

/* Whether that datagram is an answer; else it is JSON, or somebody else's. */
bool order_answer_decode(const void *bytes, size_t size,
                         order_answer_t *ret_answer);

#endif
