/* Reads JSON from a peer. It is validated strictly in one pass, without
 * building a tree: RFC 8259 grammar, UTF-8 without surrogates, bounded depth,
 * nothing after the value. So checked bytes can be signed and passed on
 * unchanged. Numbers are text, so no digits are lost. Of duplicate keys the
 * last one counts, as in Python. */
#ifndef HEARTH_PROTOCOL_JSPAN_H
#define HEARTH_PROTOCOL_JSPAN_H

#include "base/buffer.h"
#include "base/fault.h"
#include "protocol/jspan_write.h"
#include "protocol/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Checks a text; -EBADMSG says what is wrong and at which byte. */
int jspan_check(const void *text, size_t size, jspan_t *ret_value,
                fault_t *fault);

/* Checks like jspan_check, and refuses what the grammar permits but common
 * readers fail on: half of a surrogate pair, and an integer of more than
 * JSON_DIGITS_MAX digits. */
int jspan_check_portable(const void *text, size_t size, jspan_t *ret_value,
                         fault_t *fault);

/* Returns the member of a checked object; kind ABSENT without it, or if the
 * value is not an object. Compares unescaped keys. */
jspan_t jspan_member(jspan_t object, const char *key);
/* Finds several members in one pass: ret_values[i] is the member keys[i].
 * `keys` ends with NULL. */
void jspan_members(jspan_t object, const char *const *keys,
                   jspan_t *ret_values);

/* Walks a checked array or object. Start with *cursor = 0; false at the end.
 * ret_key may be NULL; for arrays it is ABSENT. */
bool jspan_each(jspan_t container, size_t *cursor, jspan_t *ret_key,
                jspan_t *ret_value);

bool jspan_is(jspan_t value, jspan_kind_t kind);
bool jspan_is_bool(jspan_t value);
bool jspan_is_integer(jspan_t value);
/* Returns true for a string that is not empty and has no NUL. A NUL would end
 * the name early wherever it is a C string: two different names would be the
 * same. */
bool jspan_is_name(jspan_t value);
/* Returns true if the member is not there, or null. */
bool jspan_is_none(jspan_t value);
/* Appends the unescaped string with a NUL to `ret_text`; NULs in the string are
 * kept. */
void jspan_text(jspan_t string, buffer_t *ret_text);
/* Returns a new copy of the unescaped string, NULL if the span is not a string.
 */
char *jspan_text_new(jspan_t string);
/* Returns a new copy like jspan_text_new; NULL also if the string has a NUL,
 * which would end the copy early. For texts that are compared or passed on as C
 * strings. */
char *jspan_plain_new(jspan_t string);
bool jspan_text_equals(jspan_t string, const char *text);
/* Reads a number; returns false if it is not an integer that fits. */
bool jspan_to_integer(jspan_t number, int64_t *ret_value);
bool jspan_to_real(jspan_t number, double *ret_value);

#endif
