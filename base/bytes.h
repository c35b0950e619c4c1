/* A borrowed run of bytes: where it begins and how long it is. The owner of
 * the bytes is whatever lent them; a bytes_t frees nothing. */
#ifndef HEARTH_BASE_BYTES_H
#define HEARTH_BASE_BYTES_H

#include <stddef.h>
#include <string.h>

typedef struct {
    const void *bytes; /* borrowed; may be NULL when size is 0 */
    size_t size;
} bytes_t;

/* Returns the text without its terminating NUL. */
static inline bytes_t text_bytes(const char *text)
{
    return (bytes_t){text, strlen(text)};
}

#endif
