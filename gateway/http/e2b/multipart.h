/* Files in the body of a form (multipart/form-data, RFC 7578). Hostile input:
 * nothing is decoded but the names of files. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_MULTIPART_H
#define HEARTH_GATEWAY_HTTP_E2B_MULTIPART_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>

#define MULTIPART_FILES_MAX 256

/* A file of the body. */
typedef struct {
    char *name;    /* owned; its filename, "" if it has none */
    bytes_t bytes; /* borrowed from the body */
} multipart_file_t;

typedef struct {
    multipart_file_t files[MULTIPART_FILES_MAX];
    size_t count;
} multipart_t;

/* Reads the parts whose name is "file". `type` is the Content-Type with its
 * boundary. Returns false if the body is not whole, or has too many files. */
bool multipart_read(const char *type, bytes_t body, multipart_t *ret);
void multipart_clear(multipart_t *self);

#endif
