/* See socket_options.h. */
#include "gateway/channels/socket_options.h"

#include "protocol/limits.h"

#include <zmq.h>

#define BEATS_MAX 100 /* echoes that wait for one peer */

/* Returns the largest size of an incoming frame. Heartbeats and subscriptions
 * are not signed, and get no more than they need. */
static int64_t largest_frame(int type)
{
    if (type == ZMQ_REP)
        return WIRE_BEAT_MAX;
    return type == ZMQ_XPUB ? WIRE_SUBSCRIPTION_MAX : WIRE_FRAME_MAX;
}

void socket_options_set(zsock_t *socket, int type)
{
    int64_t largest = largest_frame(type);

    /* A REP socket says that it has input, drops it when it is no request, and
     * would wait for the next one: nothing here ever waits. */
    zsock_set_rcvtimeo(socket, 0);
    zsock_set_sndhwm(socket, 0);
    zsock_set_rcvhwm(socket, 1000);
    zsock_set_linger(socket, SOCKET_LINGER_MS);
    zmq_setsockopt(zsock_resolve(socket), ZMQ_MAXMSGSIZE, &largest,
                   sizeof largest);
    if (type == ZMQ_ROUTER) {
        zsock_set_router_handover(socket, 1);
        zsock_set_router_mandatory(socket, 1);
    }
    /* Heartbeats are not signed; a peer that takes no echoes needs none. */
    if (type == ZMQ_REP)
        zsock_set_sndhwm(socket, BEATS_MAX);
    if (type == ZMQ_XPUB) {
        int on = 1;
        /* Each subscription and each end of one is reported, not only the first
         * and the last: each gets a welcome, and the count is right. */
        zmq_setsockopt(zsock_resolve(socket), ZMQ_XPUB_VERBOSER, &on,
                       sizeof on);
    }
}
