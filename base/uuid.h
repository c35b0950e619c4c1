/* Universally unique identifiers as text (RFC 9562). */
#ifndef HEARTH_BASE_UUID_H
#define HEARTH_BASE_UUID_H

#include <stdbool.h>
#include <stdint.h>

#define UUID_SIZE 36 /* characters of a UUID, without a NUL */

/* Writes the bytes, with the version in its place: 4 for random ones, 8 for
 * ones that are made otherwise. */
void uuid_write(const uint8_t bytes[16], unsigned version,
                char ret_text[UUID_SIZE + 1]);
/* Returns true if the text begins with a UUID in small letters. */
bool uuid_begins(const char *text);

#endif
