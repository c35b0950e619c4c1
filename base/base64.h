/* What stands for bytes in MIME bundles: base64 (RFC 4648, section 4). */
#ifndef HEARTH_BASE_BASE64_H
#define HEARTH_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

typedef enum {
    BASE64_NONE,  /* it is something else */
    BASE64_LINES, /* with white space in it: Python's encodebytes puts it at
                     the end of each line */
    BASE64_PLAIN, /* letters and padding alone */
} base64_t;

/* What the text is. In JSON, the inside of a valid string, white space is what
 * is escaped so (\n, \r, \t), and the blank. */
base64_t base64_find(const char *text, size_t size, bool is_json);

#endif
