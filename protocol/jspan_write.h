/* Writes JSON text at the end of a buffer, a value at a time:
 *
 *     jspan_write_begin(out);
 *     jspan_write_text(out, "name", name);
 *     jspan_write_array(out, "sizes");
 *     jspan_write_integer(out, NULL, 1);
 *     jspan_write_end_array(out);
 *     jspan_write_end(out);
 *
 * `key` is the name of a member, plain ASCII, or NULL in an array. A comma is
 * written if the buffer ends with a value, also with white space after it.
 * Knows libc alone. */
#ifndef HEARTH_PROTOCOL_JSPAN_WRITE_H
#define HEARTH_PROTOCOL_JSPAN_WRITE_H

#include "base/buffer.h"
#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins the outermost object, whatever the buffer holds before it. */
void jspan_write_begin(buffer_t *out);
void jspan_write_object(buffer_t *out, const char *key);
/* Ends an object, the outermost one too. */
void jspan_write_end(buffer_t *out);
void jspan_write_array(buffer_t *out, const char *key);
void jspan_write_end_array(buffer_t *out);
/* Writes a string. Bytes that are no UTF-8 become U+FFFD. */
void jspan_write_text(buffer_t *out, const char *key, const char *text);
void jspan_write_bytes(buffer_t *out, const char *key, bytes_t text);
void jspan_write_integer(buffer_t *out, const char *key, int64_t value);
void jspan_write_count(buffer_t *out, const char *key, uint64_t value);
void jspan_write_bool(buffer_t *out, const char *key, bool value);
/* Writes a value that is JSON already; "{}" if its size is 0. */
void jspan_write_raw(buffer_t *out, const char *key, bytes_t json);
/* Writes the name of a member; the caller appends its value, which is JSON. */
void jspan_write_key(buffer_t *out, const char *key);
/* Writes a string in pieces: what the caller appends before the end is escaped
 * already. */
void jspan_write_open_text(buffer_t *out, const char *key);
void jspan_write_end_text(buffer_t *out);

/* Appends text as a JSON string with quotes and without a comma. Bytes that are
 * no UTF-8 become U+FFFD. */
void jspan_quote(buffer_t *out, const void *text, size_t size);
void jspan_quote_text(buffer_t *out, const char *text);

#endif
