/* The requests of a gateway to a warm zygote, and the replies
 * (docs/design/PROTOCOL.zygote.md). They are flat, so that the zygote reads and
 * writes them without touching a Python object. They use the machine's own byte
 * order, since both ends are on one machine. */
#ifndef HEARTH_KERNELS_ZYGOTE_REQUEST_H
#define HEARTH_KERNELS_ZYGOTE_REQUEST_H

#include "base/buffer.h"
#include "base/fault.h"
#include "sandbox/policy/sandbox_limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Version of the whole protocol. It is the first number in each datagram, and
 * is never the brace with which JSON begins. */
#define ZYGOTE_PROTOCOL 5

/* Descriptors sent with a request, in this order; those of the control group
 * follow them. */
#define ZYGOTE_REQUEST_FDS 4

/* A kernel to be forked. Texts follow it in its datagram, each with a NUL: the
 * name of the host inside, then name and value of each variable of the kernel's
 * environment. */
typedef struct {
    uint32_t protocol; /* ZYGOTE_PROTOCOL: zygote_request_encode sets it */
    uint32_t has_cgroup_folder;  /* 1: the group's descriptor is a folder */
    uint64_t number;             /* repeated in the reply */
    uint32_t host_uid, host_gid; /* as in sandbox_launch_t */
    uint32_t init_uid, init_gid;
    uint32_t orphan_seconds;
    uint32_t reserved; /* 0 */
    uint64_t retain;   /* bytes of events that the kernel keeps */
    sandbox_limits_t limits;
} zygote_request_t;

typedef struct {
    uint32_t protocol; /* ZYGOTE_PROTOCOL */
    int32_t pid;       /* of pid 1 on the host; 0: it failed */
    uint64_t number;   /* of the request */
    int32_t processor; /* on which the payload was made; negative: unknown */
    uint32_t reserved; /* 0 */
    fault_t fault;     /* why it failed */
} zygote_reply_t;

/* Writes a request with the host's name into an empty buffer;
 * zygote_request_add_variable adds each variable. The size is not checked here:
 * the sender compares it with ZYGOTE_DATAGRAM_MAX. */
void zygote_request_encode(const zygote_request_t *self, const char *hostname,
                           buffer_t *out);
void zygote_request_add_variable(buffer_t *out, const char *name,
                                 const char *value);

/* The texts of a datagram that was decoded; they point into it. */
typedef struct {
    const char *hostname;
    const char *next; /* where zygote_request_next_variable continues */
    const char *end;
} zygote_request_texts_t;

/* Reads a datagram of any bytes; the texts point into it. -EPROTO if it has
 * another version, is too short, or its texts are malformed. */
int zygote_request_decode(const void *bytes, size_t size,
                          zygote_request_t *ret_request,
                          zygote_request_texts_t *ret_texts, fault_t *fault);
/* Returns the next variable; false after the last one. */
bool zygote_request_next_variable(zygote_request_texts_t *self,
                                  const char **ret_name,
                                  const char **ret_value);

/* Returns true if the datagram is a reply; otherwise it is JSON, or from
 * another program. */
bool zygote_reply_decode(const void *bytes, size_t size,
                         zygote_reply_t *ret_answer);

#endif
