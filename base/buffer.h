/* A growable run of bytes. Sizes that a peer chooses are checked against
 * protocol/limits.h before they reach it; without memory the program ends. */
#ifndef HEARTH_BASE_BUFFER_H
#define HEARTH_BASE_BUFFER_H

#include "base/bytes.h"
#include "base/cleanup.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t *data;   /* owned; followed by a NUL once used */
    size_t size;     /* bytes in use */
    size_t capacity; /* bytes owned */
} buffer_t;

#define BUFFER_EMPTY ((buffer_t){0})

/* Returns what the buffer holds, lent until the buffer is changed. */
static inline bytes_t buffer_bytes(const buffer_t *self)
{
    return (bytes_t){self->data, self->size};
}

/* Makes room for `more` bytes and a NUL after the end, and returns where they
 * go. The size does not change: the caller adds what it wrote, and writes the
 * NUL if it wants one. */
uint8_t *buffer_reserve(buffer_t *self, size_t more);
void buffer_append(buffer_t *self, const void *bytes, size_t size);
void buffer_text(buffer_t *self, const char *text);
void buffer_format(buffer_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Forgets the first `size` bytes. */
void buffer_consume(buffer_t *self, size_t size);
/* Empties it, keeps the memory. */
void buffer_clear(buffer_t *self);
/* Frees the memory; the buffer can be used again. */
void buffer_reset(buffer_t *self);

#define cleanup_buffer CLEANUP(buffer_reset)

/* Allocate memory that the caller owns, or end the program if there is not
 * enough. Only base/buffer.c calls malloc. */
void *mem_new(size_t size); /* zeroed */
void *mem_resize(void *old, size_t size);
void *mem_copy(const void *bytes, size_t size); /* NUL-terminated copy */
char *mem_text(const char *text);               /* copy; NULL for NULL */
char *mem_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
