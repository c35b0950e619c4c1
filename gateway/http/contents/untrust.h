/* Copies a notebook's text to a browser with its claim to be trusted removed.
 * `trusted` in a cell's metadata lets a front end run the cell's scripts, and
 * any author of the file can have written it. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_UNTRUST_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_UNTRUST_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define UNTRUST_LEVELS   4  /* notebook, cells, cell, metadata */
#define UNTRUST_KEY_SIZE 64 /* "metadata", each letter escaped, with quotes */

/* Initialised to zero. */
typedef struct {
    unsigned depth; /* open arrays and objects */
    bool is_string; /* the next byte is in a string */
    bool is_escaped;
    bool is_key;      /* the string is a key, or a next one would be */
    bool is_skipping; /* in a value that was replaced */
    bool is_object[UNTRUST_LEVELS + 1]; /* by depth */
    bool is_path[UNTRUST_LEVELS
                 + 1]; /* the open keys lead to a cell's metadata */
    bool is_match[UNTRUST_LEVELS + 1]; /* its last key is the path's */
    char key[UNTRUST_KEY_SIZE];        /* with quotes */
    size_t key_size; /* more than UNTRUST_KEY_SIZE: too long */
} untrust_t;

/* Appends the next piece of a text that is one JSON object, with the value of
 * each `cells[*].metadata.trusted` replaced by false. */
void untrust_add(untrust_t *self, const void *bytes, size_t size,
                 buffer_t *out);

#endif
