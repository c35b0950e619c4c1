/* The network of a sandbox. Plain data. */
#ifndef HEARTH_SANDBOX_POLICY_NETWORK_H
#define HEARTH_SANDBOX_POLICY_NETWORK_H

typedef enum {
    SANDBOX_NETWORK_NONE,    /* only Unix sockets; the loopback is down */
    SANDBOX_NETWORK_LOOPBACK /* also TCP and UDP on a loopback of its own */
} sandbox_network_t;

#endif
