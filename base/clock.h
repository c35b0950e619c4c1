/* Time: monotonic for deadlines, wall clock for people. */
#ifndef HEARTH_BASE_CLOCK_H
#define HEARTH_BASE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLOCK_ISO_SIZE 28 /* "2026-01-02T03:04:05.000006Z" and a NUL */

int64_t clock_monotonic_ms(void);
int64_t clock_monotonic_us(void);
/* Microseconds since 1970, UTC. */
int64_t clock_wall_us(void);
/* Writes a time with six digits and Z: the one form that every Jupyter client
 * parses. Times outside the years 1970 to 9999 become the nearest one inside.
 */
void clock_iso(int64_t wall_us, char ret_text[CLOCK_ISO_SIZE]);
/* Reads such a text, with any number of digits after the seconds; a zone is
 * passed over. Returns false if it is no time. */
bool clock_read_iso(const char *text, int64_t *ret_wall_us);

#endif
