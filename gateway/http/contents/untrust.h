/* A notebook's text on its way to a browser, without its claim to be trusted:
 * `trusted` in a cell's metadata lets a front end run the cell's scripts, and
 * whoever wrote the file can have put it there. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_UNTRUST_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_UNTRUST_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define UNTRUST_LEVELS   4  /* notebook, cells, cell, metadata */
#define UNTRUST_KEY_SIZE 64 /* "metadata", each letter escaped, with quotes */

/* All zero at the beginning. */
typedef struct {
    unsigned depth; /* open arrays and objects */
    bool is_string; /* the next byte is in a string */
    bool is_escaped;
    bool is_key;      /* the string is, or a string that follows would be */
    bool is_skipping; /* a value that was replaced */
    bool is_object[UNTRUST_LEVELS + 1]; /* by depth */
    bool is_path[UNTRUST_LEVELS + 1];   /* it leads to a cell's metadata */
    bool is_match[UNTRUST_LEVELS + 1];  /* its last key is the path's */
    char key[UNTRUST_KEY_SIZE];         /* with its quotes */
    size_t key_size;                    /* more than there is room for: long */
} untrust_t;

/* Appends the next piece of a text that is one JSON object, with the value of
 * each `cells[*].metadata.trusted` replaced by false. */
void untrust_add(untrust_t *self, const void *bytes, size_t size,
                 buffer_t *out);

#endif
