/* Frames of the kernel link (docs/design/PROTOCOL.kernel.md). Little-endian
 * header of 32 bytes, then the lengths of the buffers, metadata, content,
 * buffers. Depends on libc alone: the gateway and the kernel's extension share
 * it. */
#ifndef HEARTH_PROTOCOL_FRAME_H
#define HEARTH_PROTOCOL_FRAME_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_SIZE 32
#define FRAME_VERSION     1

/*   name            code  way     Jupyter message type ("" when none) */
#define FRAME_TYPES(X)                                                         \
    X(HELLO, 1, DOWN, "") /* first frame of each connection */                 \
    X(ACK, 2, DOWN, "")   /* seq: every event up to it is journaled */         \
    X(EXECUTE, 3, DOWN, "execute_request")                                     \
    X(COMPLETE, 4, DOWN, "complete_request")                                   \
    X(INSPECT, 5, DOWN, "inspect_request")                                     \
    X(IS_COMPLETE, 6, DOWN, "is_complete_request")                             \
    X(HISTORY, 7, DOWN, "history_request")                                     \
    X(COMM_INFO, 8, DOWN, "comm_info_request")                                 \
    X(COMM_OPEN_IN, 9, DOWN, "comm_open")                                      \
    X(COMM_MSG_IN, 10, DOWN, "comm_msg")                                       \
    X(COMM_CLOSE_IN, 11, DOWN, "comm_close")                                   \
    X(INPUT_REPLY, 12, DOWN, "input_reply")                                    \
    X(SHUTDOWN, 13, DOWN, "shutdown_request")                                  \
    X(MARK, 14, DOWN, "")     /* answered after all earlier events */          \
    X(REHEARSE, 15, DOWN, "") /* a request may come soon; no answer */         \
    X(TOOLS, 16, DOWN, "")    /* the host tools that code may call */          \
    X(KEEP, 17, DOWN, "")     /* a listener came along: a keeper gets it */    \
    X(CALLED, 18, DOWN, "")   /* the answer to a CALL */                       \
    X(LOOK, 19, DOWN, "")     /* asks which packages are imported */           \
    X(WELCOME, 32, UP, "")    /* answer to HELLO */                            \
    X(READY, 33, UP, "")      /* once in a kernel's life, its first event */   \
    X(STREAM, 34, UP, "stream")                                                \
    X(DISPLAY, 35, UP, "display_data")                                         \
    X(UPDATE, 36, UP, "update_display_data")                                   \
    X(RESULT, 37, UP, "execute_result")                                        \
    X(ERROR, 38, UP, "error")                                                  \
    X(CLEAR, 39, UP, "clear_output")                                           \
    X(COMM_OPEN, 40, UP, "comm_open")                                          \
    X(COMM_MSG, 41, UP, "comm_msg")                                            \
    X(COMM_CLOSE, 42, UP, "comm_close")                                        \
    X(INPUT_REQUEST, 43, UP, "input_request")                                  \
    X(REPLY, 44, UP, "")    /* ends the request in `request` */                \
    X(MARKED, 45, UP, "")   /* the answer to MARK, with its `request` */       \
    X(YIELDED, 46, UP, "")  /* an interrupt has ended the cell's own code */   \
    X(AWAITING, 47, UP, "") /* the cell awaits; comm messages are served */    \
    X(CALL, 48, UP, "")     /* code calls a host tool */                       \
    X(UNCALL, 49, UP, "")   /* code does not wait for that answer any more */  \
    X(STRUCK, 50, UP, "")   /* Python code has got an interrupt */             \
    X(LOOKED, 51, UP, "")   /* the answer to LOOK */

typedef enum {
#define X(name, code, way, type) FRAME_##name = code,
    FRAME_TYPES(X)
#undef X
} frame_type_t;

typedef struct {
    uint16_t type;    /* frame_type_t, unchecked */
    uint64_t seq;     /* events: 1, 2, 3 … ; ACK: up to here; else 0 */
    uint64_t request; /* requests: their number; events: the cause, or 0 */
    bytes_t metadata; /* JSON object or empty */
    bytes_t content;  /* JSON object or empty */
    /* The content in pieces, for frame_encode, if `content.bytes` is NULL;
     * `content.size` is their sum. */
    const bytes_t *pieces;
    size_t piece_count;
    const bytes_t *buffers;
    size_t buffer_count;
} frame_t;

/* Returns "EXECUTE" and so on; NULL for an unknown code. */
const char *frame_type_name(uint16_t type);
/* Returns "execute_request" and so on; "" if the type has none. */
const char *frame_message_type(uint16_t type);

/* Returns true if the frame brings a frontend's comm message. */
static inline bool frame_is_comm_request(uint16_t type)
{
    return type == FRAME_COMM_OPEN_IN || type == FRAME_COMM_MSG_IN
           || type == FRAME_COMM_CLOSE_IN;
}

/* Checks a frame's sizes; -EMSGSIZE if it breaks a limit of protocol/limits.h.
 */
int frame_check_size(const frame_t *frame, fault_t *fault);
/* Appends the encoded frame, which must not break a limit. */
void frame_encode(const frame_t *frame, buffer_t *out);

/* Bytes of memory that a decoder keeps when no frame waits. */
#define FRAME_DECODER_KEPT (128u << 10)

/* Decodes frames from bytes in pieces of any size. */
typedef struct frame_decoder frame_decoder_t;
frame_decoder_t *frame_decoder_new(void);
void frame_decoder_destroy(frame_decoder_t **self_p);
#define cleanup_frame_decoder CLEANUP(frame_decoder_destroy)
/* Returns where to read into: at least 64 KiB, or the rest of an announced
 * frame. Memory follows what has arrived, not what was announced: it at most
 * doubles. */
void *frame_decoder_space(frame_decoder_t *self, size_t *ret_size);
void frame_decoder_added(frame_decoder_t *self, size_t size);
/* Returns 1 and a frame, lent until the next call on the decoder; 0 if more
 * bytes are needed. Returns -EPROTO if lengths contradict each other or break a
 * limit. */
int frame_decoder_next(frame_decoder_t *self, frame_t *ret_frame,
                       fault_t *fault);
/* Return sizes in bytes: the decoder's memory, and how much the next call of
 * frame_decoder_space may add to it. */
size_t frame_decoder_held(const frame_decoder_t *self);
size_t frame_decoder_growth(const frame_decoder_t *self);
/* Returns true if it has bytes of an unfinished frame. */
bool frame_decoder_is_partial(const frame_decoder_t *self);
/* Forgets everything, because a new connection begins. */
void frame_decoder_clear(frame_decoder_t *self);

#endif
