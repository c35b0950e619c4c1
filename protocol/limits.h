/* Every limit on what a peer may send, in one place. */
#ifndef HEARTH_PROTOCOL_LIMITS_H
#define HEARTH_PROTOCOL_LIMITS_H

#define WIRE_FRAME_MAX                                                         \
    (128u << 20) /* bytes in one ZeroMQ frame (ZMQ_MAXMSGSIZE) */
#define WIRE_MESSAGE_MAX    (256u << 20) /* bytes in all frames of a message */
#define WIRE_FRAMES_MAX     1024 /* frames of a message, identities included */
#define WIRE_IDENTITIES_MAX 16
#define WIRE_IDENTITY_MAX   255         /* bytes; libzmq's own limit */
#define WIRE_HEADER_MAX     (64u << 10) /* bytes of header and of parent_header */
#define WIRE_HISTORY_SIZE                                                      \
    65536 /* signatures remembered a socket, as jupyter_client */

#define JSON_DEPTH_MAX 128

#define FRAME_BODY_MAX                                                         \
    (256u << 20) /* bytes behind the header of a link frame */
#define FRAME_METADATA_MAX (1u << 20)
#define FRAME_BUFFERS_MAX  1024

#define CONNECTION_FILE_MAX (64u << 10)
#define CONFIG_FILE_MAX     (1u << 20)

#endif
