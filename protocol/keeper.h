/* Messages between the gateway and a keeper, the program that watches one
 * process beside a kernel (docs/design/PROTOCOL.process.md). Each is one
 * message of a SOCK_SEQPACKET socket: a header of 40 bytes, little-endian, then
 * data. Depends on libc alone: the gateway, the kernel's extension and the
 * keeper share it. */
#ifndef HEARTH_PROTOCOL_KEEPER_H
#define HEARTH_PROTOCOL_KEEPER_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEEPER_VERSION     1
#define KEEPER_HEADER_SIZE 40
#define KEEPER_NUMBERS     4
/* Bytes of working folder, arguments and environment, each with its NUL. */
#define KEEPER_START_MAX (96u << 10)
/* Bytes of input or output in one message. */
#define KEEPER_PIECE_MAX (32u << 10)
#define KEEPER_SIZE_MAX  (KEEPER_HEADER_SIZE + KEEPER_START_MAX)
/* Bytes of input that the process has not taken, and of output that the gateway
 * has not. */
#define KEEPER_INPUT_MAX  (256u << 10)
#define KEEPER_OUTPUT_MAX (256u << 10)
/* Rows and columns of a terminal. */
#define KEEPER_SCREEN_MAX 4096

/*   name        code  bytes of data      numbers, in their order */
#define KEEPER_KINDS(X)                                                        \
    X(START, 1, KEEPER_START_MAX) /* is_terminal, limit in ms or 0, rows << 16 \
                                     | columns, arguments */                   \
    X(INPUT, 2, KEEPER_PIECE_MAX) /* - */                                      \
    X(INPUT_END, 3, 0)            /* - */                                      \
    X(SIGNAL, 4, 0)               /* signal */                                 \
    X(RESIZE, 5, 0)               /* rows, columns */                          \
    X(STOP, 6, 0)                 /* ms from SIGTERM to SIGKILL */             \
    X(TAKEN, 7, 0)                /* offset: the gateway has what is before */ \
    X(DISMISS, 8, 0)              /* - */                                      \
    X(HELLO, 32,                                                               \
      0) /* version, offset of TAKEN, is_started, bytes of stderr before it */ \
    X(STARTED, 33, 0)               /* pid inside the sandbox */               \
    X(OUTPUT, 34, KEEPER_PIECE_MAX) /* offset, stream */                       \
    X(INPUT_TAKEN, 35, 0)           /* bytes so far, that came, is_unread */   \
    X(ENDED, 36, 0) /* keeper_end_t, code, keeper_cause_t, ms of               \
                       processor time */

typedef enum {
#define X(name, code, size) KEEPER_##name = code,
    KEEPER_KINDS(X)
#undef X
} keeper_kind_t;

typedef enum {
    KEEPER_STDOUT = 1, /* also the output of a terminal */
    KEEPER_STDERR = 2,
} keeper_stream_t;

/* How a process ended; each end says what `code` is. */
typedef enum {
    KEEPER_EXITED,    /* code: exit code */
    KEEPER_SIGNALLED, /* code: signal */
    KEEPER_NO_FOLDER, /* code: errno; it was not started */
    KEEPER_NO_PROGRAM,
    KEEPER_NO_ROOM,
    KEEPER_ENDS
} keeper_end_t;

/* Why the keeper ended the process. */
typedef enum {
    KEEPER_BY_ITSELF,
    KEEPER_BY_LIMIT,   /* its time was over */
    KEEPER_BY_REQUEST, /* STOP */
    KEEPER_CAUSES
} keeper_cause_t;

typedef struct {
    keeper_kind_t kind;
    uint64_t numbers[KEEPER_NUMBERS]; /* what they are depends on the kind */
    bytes_t data;                     /* borrowed */
} keeper_message_t;

/* Replaces the content of `out` by the message. The size of its data must not
 * exceed the bound of its kind. */
void keeper_encode(const keeper_message_t *message, buffer_t *out);
/* Reads a message that was received as a whole; its data is lent from `bytes`.
 * Returns -EPROTO if it is not a message, is too big, or has a number out of
 * range. */
int keeper_decode(bytes_t bytes, keeper_message_t *ret_message, fault_t *fault);

/* The texts of START, each with its NUL, in this order. */
typedef struct {
    const char *folder; /* working folder; relative to the workspace */
    const char *const *arguments;
    size_t argument_count;
    const char *const *environment; /* NAME=VALUE, beside the session's own */
    size_t environment_count;
} keeper_start_t;

/* Appends the texts to `out`. -E2BIG: more than KEEPER_START_MAX. */
int keeper_write_start(const keeper_start_t *start, buffer_t *out,
                       fault_t *fault);
/* Returns the next text and steps over it; NULL if no text with its NUL is
 * left. */
const char *keeper_next_text(bytes_t *texts);

#endif
