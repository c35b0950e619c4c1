/* Every limit on what a peer may send, in one place. */
#ifndef HEARTH_PROTOCOL_LIMITS_H
#define HEARTH_PROTOCOL_LIMITS_H

/* One ZeroMQ frame (ZMQ_MAXMSGSIZE), and all frames of a message: bytes. */
#define WIRE_FRAME_MAX   (128u << 20)
#define WIRE_MESSAGE_MAX (256u << 20)
/* Frames of a message, identities included. */
#define WIRE_FRAMES_MAX     1024
#define WIRE_IDENTITIES_MAX 16
#define WIRE_IDENTITY_MAX   255 /* bytes; libzmq's own limit */
/* One frame from a peer without the key: a heartbeat, and a subscription with
 * the byte before its topic. */
#define WIRE_BEAT_MAX         4096
#define WIRE_SUBSCRIPTION_MAX 1024
#define WIRE_HEADER_MAX       (64u << 10) /* bytes of header, parent_header */
/* Signatures remembered per socket, as many as in jupyter_client. */
#define WIRE_HISTORY_SIZE 65536

#define JSON_DEPTH_MAX 128

/* Digits of an integer: Python's default limit (sys.get_int_max_str_digits),
 * past which its clients raise instead of reading the message. */
#define JSON_DIGITS_MAX 4300

/* Bytes after the header of a frame on the kernel link. */
#define FRAME_BODY_MAX     (256u << 20)
#define FRAME_METADATA_MAX (1u << 20)
#define FRAME_BUFFERS_MAX  1024

/* A request to a zygote (kernels/zygote_request.h), or a datagram of its JSON:
 * bytes. */
#define ZYGOTE_DATAGRAM_MAX (64u << 10)

/* A note before a cell, and its author: bytes. */
#define NOTE_TEXT_MAX (64u << 10)
#define NOTE_BY_MAX   200

/* Bytes of the name of a host tool, of a process that answers such tools, or of
 * one of its workers. Bytes of JSON of the tools that one process registers. */
#define TOOL_NAME_MAX        128
#define TOOL_OFFER_BYTES_MAX (1u << 20)

/* The name of a frontend (letters, digits, '-') and of one of its clients:
 * bytes without NUL; a session's id with its NUL. */
#define FRONTEND_NAME_MAX   24
#define FRONTEND_CLIENT_MAX 128
#define FRONTEND_ID_MAX     64

/* Tokens of HTTP that a gateway has at a time. */
#define TOKENS_MAX 1000

/* Paths of a workspace that one request looks at for changes. */
#define FILES_LOOK_MAX 64

#define CONNECTION_FILE_MAX (64u << 10)
#define CONFIG_FILE_MAX     (1u << 20)

/* Seconds that a session may be requested to live, to be idle, or to run a
 * cell: a hundred years. */
#define SESSION_SECONDS_MAX 3155760000.0

#endif
