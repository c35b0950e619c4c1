/* Numbers with a unit, as people write them in the configuration and on the
 * command line. */
#ifndef HEARTH_BASE_UNITS_H
#define HEARTH_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)

/* Each returns false if the text is no such number, or too large a one. */

/* Reads "90s", "20m", "2h", "1d" or seconds without a unit, with up to three
 * digits after a point. Sets milliseconds. */
bool units_duration(const char *text, uint64_t *ret_ms);
/* Reads "512M", "1G", "64K", "2T" or bytes without a unit. */
bool units_size(const char *text, uint64_t *ret_bytes);
/* Reads decimal digits only. */
bool units_number(const char *text, uint64_t *ret_value);

/* Write "90s" or "1G": the number in the largest unit that divides the value.
 */
void units_write_duration(uint64_t ms, char *ret_text, size_t size);
void units_write_size(uint64_t bytes, char *ret_text, size_t size);
/* Writes "512 MiB" or "2 GiB" for a sentence: whole GiB if it is some, else
 * MiB.
 */
void units_say_size(uint64_t bytes, char *ret_text, size_t size);

#endif
