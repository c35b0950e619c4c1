/* Growable bytes, and the one place that asks for memory. Depends on libc
 * alone: the extensions of the kernel's interpreter are linked with it. */
#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FIRST_CAPACITY 64

void *mem_new(size_t size)
{
    void *memory = calloc(1, size > 0 ? size : 1);
    if (memory == NULL)
        abort();
    return memory;
}

void *mem_resize(void *old, size_t size)
{
    void *memory = realloc(old, size > 0 ? size : 1);
    if (memory == NULL)
        abort();
    return memory;
}

void *mem_copy(const void *bytes, size_t size)
{
    if (size == SIZE_MAX)
        abort();
    char *copy = mem_resize(NULL, size + 1);
    if (size > 0)
        memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

char *mem_text(const char *text)
{
    return text != NULL ? mem_copy(text, strlen(text)) : NULL;
}

char *mem_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        abort();
    return text;
}

uint8_t *buffer_reserve(buffer_t *self, size_t more)
{
    /* One byte more than requested, for the NUL after the end. */
    if (more >= SIZE_MAX - self->size)
        abort();
    size_t needed = self->size + more + 1;
    if (needed > self->capacity) {
        size_t capacity = self->capacity > 0 ? self->capacity : FIRST_CAPACITY;
        while (capacity < needed)
            capacity = capacity > SIZE_MAX / 2 ? needed : capacity * 2;
        self->data = mem_resize(self->data, capacity);
        self->capacity = capacity;
    }
    return self->data + self->size;
}

void buffer_append(buffer_t *self, const void *bytes, size_t size)
{
    uint8_t *end = buffer_reserve(self, size);
    if (size > 0)
        memcpy(end, bytes, size);
    self->size += size;
    end[size] = '\0';
}

void buffer_text(buffer_t *self, const char *text)
{
    buffer_append(self, text, strlen(text));
}

void buffer_format(buffer_t *self, const char *format, ...)
{
    /* Most lines fit at the first try; the second one knows the length. */
    char *end = (char *) buffer_reserve(self, FIRST_CAPACITY);
    size_t room = self->capacity - self->size;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(end, room, format, args);
    va_end(args);
    if (length < 0)
        abort();

    if ((size_t) length >= room) {
        end = (char *) buffer_reserve(self, (size_t) length);
        va_start(args, format);
        length = vsnprintf(end, (size_t) length + 1, format, args);
        va_end(args);
    }
    self->size += (size_t) length;
}

void buffer_consume(buffer_t *self, size_t size)
{
    assert(size <= self->size);
    if (size == 0)
        return;
    self->size -= size;
    memmove(self->data, self->data + size, self->size);
    self->data[self->size] = '\0';
}

void buffer_clear(buffer_t *self)
{
    self->size = 0;
    if (self->data != NULL)
        self->data[0] = '\0';
}

void buffer_reset(buffer_t *self)
{
    free(self->data);
    *self = BUFFER_EMPTY;
}
