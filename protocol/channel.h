/* The five channels of a Jupyter kernel. */
#ifndef HEARTH_PROTOCOL_CHANNEL_H
#define HEARTH_PROTOCOL_CHANNEL_H

#include <stddef.h>

/*   name     text       kernel's socket  client's socket  key in the file */
#define CHANNELS(X)                                                            \
    X(SHELL, "shell", ZMQ_ROUTER, ZMQ_DEALER, "shell_port")                    \
    X(CONTROL, "control", ZMQ_ROUTER, ZMQ_DEALER, "control_port")              \
    X(STDIN, "stdin", ZMQ_ROUTER, ZMQ_DEALER, "stdin_port")                    \
    X(IOPUB, "iopub", ZMQ_XPUB, ZMQ_SUB, "iopub_port")                         \
    X(HB, "hb", ZMQ_REP, ZMQ_REQ, "hb_port")

typedef enum {
#define X(name, text, kernel, client, key) CHANNEL_##name,
    CHANNELS(X)
#undef X
    CHANNEL_COUNT
} channel_t;

/* Returns "shell" and so on; static. */
const char *channel_name(channel_t channel);
/* Returns the channel of a name of `size` bytes; CHANNEL_COUNT if it is
 * unknown. */
channel_t channel_from_name(const char *name, size_t size);

#endif
