/* Recognises base64 (RFC 4648, section 4), as MIME bundles have it. */
#ifndef HEARTH_BASE_BASE64_H
#define HEARTH_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    BASE64_NONE,  /* it is something else */
    BASE64_LINES, /* with white space in it: Python's encodebytes puts it at
                     the end of each line */
    BASE64_PLAIN, /* letters and padding only */
} base64_t;

/* Returns what the text is. With `is_json` the text is the inside of a valid
 * JSON string: its white space is the blank and the escapes \n, \r and \t. */
base64_t base64_find(const char *text, size_t size, bool is_json);

#endif
