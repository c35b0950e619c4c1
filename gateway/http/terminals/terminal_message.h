/* The messages of Jupyter's terminals (terminado's): JSON arrays in text
 * frames, the first element says which. Those of a client are hostile. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_MESSAGE_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_MESSAGE_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

/* Rows or columns that a session takes; a larger number becomes this one. */
#define TERMINAL_MESSAGE_SIDE_MAX 4096

typedef enum {
    TERMINAL_MESSAGE_OTHER, /* nothing that is meant for the program */
    TERMINAL_MESSAGE_STDIN,
    TERMINAL_MESSAGE_SET_SIZE,
} terminal_message_kind_t;

typedef struct {
    terminal_message_kind_t kind;
    buffer_t text;          /* of STDIN; UTF-8 */
    unsigned rows, columns; /* of SET_SIZE */
} terminal_message_t;

/* Reads what a client sent. Returns false if it is no array with a text at its
 * beginning. The caller clears the message in any case. */
bool terminal_message_read(const void *bytes, size_t size,
                           terminal_message_t *ret_message);
void terminal_message_clear(terminal_message_t *self);
#define cleanup_terminal_message CLEANUP(terminal_message_clear)

/* Append a message of a server to its client. */
void terminal_message_write_setup(buffer_t *out);
void terminal_message_write_stdout(buffer_t *out, bytes_t text);
void terminal_message_write_disconnect(buffer_t *out);

#endif
