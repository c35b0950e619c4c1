/* One frame of IPython's traceback, read from its text. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_TRACEBACK_FRAME_H
#define HEARTH_NOTEBOOKS_MODELVIEW_TRACEBACK_FRAME_H

#include "base/buffer.h"

#include <stdbool.h>

/* The parts of a frame's text, lent from it. */
typedef struct {
    bytes_t place;    /* file, or the cell's number */
    bytes_t function; /* with its arguments; empty: the module */
    bytes_t number;   /* of the line */
    bytes_t code;     /* of the line */
    bool is_cell;
} traceback_frame_t;

/* Reads a text without control sequences; false if it is no frame. A text that
 * begins like one and shows no line, such as a SyntaxError's, is not one. */
bool traceback_frame_read(bytes_t text, traceback_frame_t *ret_frame);
/* Returns true if the frame is not the session's own code. */
bool traceback_frame_is_library(const traceback_frame_t *self);
/* Returns the path below the folder of packages, or of Python's own modules;
 * other paths as they are. */
bytes_t traceback_frame_path(const traceback_frame_t *self);

/* Returns the text without white space at its ends. */
bytes_t traceback_trim(bytes_t text);
bool traceback_has_prefix(bytes_t text, const char *word);

#endif
