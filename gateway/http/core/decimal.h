/* Numbers as paths, queries and headers have them: digits alone, at most 18, so
 * that they fit. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_DECIMAL_H
#define HEARTH_GATEWAY_HTTP_CORE_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

/* Reads a text that is a number and nothing else. Returns false for others and
 * for NULL. */
bool decimal_read(const char *text_or_null, uint64_t *ret_number);
/* Reads the digits that begin at *at and moves it after them. Returns false if
 * there is no digit or there are too many. */
bool decimal_take(const char **at, uint64_t *ret_number);

#endif
