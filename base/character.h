/* Characters that people do not see as themselves: controls, and those of
 * Unicode that show nothing or change the order of others. */
#ifndef HEARTH_BASE_CHARACTER_H
#define HEARTH_BASE_CHARACTER_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
    CHARACTER_CONTROL = 1,   /* C0, DEL and C1 */
    CHARACTER_SEPARATOR = 2, /* U+2028 and U+2029: end of line, paragraph */
    CHARACTER_BIDI = 4,      /* embeddings, overrides and isolates: they change
                                the order in which others are shown */
    CHARACTER_INVISIBLE = 8, /* shows nothing: marks, tags, annotations */
    CHARACTER_JOINER = 16,   /* U+200C and U+200D, which scripts and emoji
                                need */
    CHARACTER_FORMAT = 32,   /* other formats, which some scripts show */
    CHARACTER_PRIVATE = 64,  /* without a meaning that all programs know */
} character_kind_t;

/* Returns true if the character is of one of these kinds. */
bool character_is(uint32_t code, unsigned kinds);

#endif
