/* JSON as a peer sends it: validated strictly in one pass (RFC 8259 grammar,
 * UTF-8 without surrogates, bounded depth, nothing behind the value), without
 * building a tree, so that checked bytes can be signed and passed on as they
 * are. Numbers are text: no size is lost. Duplicate keys: the last one counts,
 * as in Python. */
#ifndef HEARTH_PROTOCOL_JSON_H
#define HEARTH_PROTOCOL_JSON_H

#include "base/buffer.h"
#include "base/fault.h"
#include "protocol/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -EBADMSG with what is wrong and at which byte. */
int json_check(const void *text, size_t size, json_span_t *ret_value,
               fault_t *fault);

/* Like json_check, and refuses what the grammar permits but common readers
 * fail on: half of a surrogate pair, and an integer of more than
 * JSON_DIGITS_MAX digits. */
int json_check_portable(const void *text, size_t size, json_span_t *ret_value,
                        fault_t *fault);

/* The member of a checked object; kind ABSENT when there is none or the value
 * is no object. Compares unescaped keys. */
json_span_t json_member(json_span_t object, const char *key);

/* Walks a checked array or object. Start with *cursor = 0; false at the end.
 * ret_key may be NULL; for arrays it is ABSENT. */
bool json_each(json_span_t container, size_t *cursor, json_span_t *ret_key,
               json_span_t *ret_value);

bool json_is(json_span_t value, json_kind_t kind);
bool json_is_bool(json_span_t value);
bool json_is_integer(json_span_t value);
/* Unescaped, NUL-terminated, in `ret_text` (appended); NULs in it stay. */
void json_text(json_span_t string, buffer_t *ret_text);
/* A fresh copy of the unescaped string, or NULL when the span is no string. */
char *json_text_new(json_span_t string);
bool json_text_equals(json_span_t string, const char *text);
/* False when it is not an integer that fits. */
bool json_to_integer(json_span_t number, int64_t *ret_value);
bool json_to_real(json_span_t number, double *ret_value);

/* Writing: appends text as a JSON string with quotes. Bytes that are no UTF-8
 * become U+FFFD. */
void json_quote(buffer_t *out, const void *text, size_t size);
void json_quote_text(buffer_t *out, const char *text);

#endif
