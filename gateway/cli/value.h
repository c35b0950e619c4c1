/* What an option or an operand may be. The word that the help shows for it
 * says it: "TIME", "FILE", "auto|never". One table checks the values and
 * completes them. */
#ifndef HEARTH_GATEWAY_CLI_VALUE_H
#define HEARTH_GATEWAY_CLI_VALUE_H

#include <stdbool.h>
#include <stddef.h>

/* Where candidates for completion come from. */
typedef enum {
    VALUE_ANY,      /* nobody knows */
    VALUE_WORDS,    /* the words of "auto|never" */
    VALUE_FILES,    /* a file of this machine */
    VALUE_FOLDERS,  /* a folder of this machine */
    VALUE_SESSIONS, /* the id of a session */
} value_source_t;

/* The first `size` bytes of `word` are an option's value word, or the name of
 * an operand. Of more than one with bars between, the first known one decides,
 * or it is VALUE_WORDS when they are in lower case. */
value_source_t value_source(const char *word, size_t size);

/* NULL when `text` may stand for the word; else what would be right: "a time
 * (90s, 20m, 2h, 1d)", "one of auto|never". Lent until the next call. */
const char *value_fault(const char *word, const char *text);

/* "1.5", "90s", "20m", "2h" -> seconds. False when it is none of them. */
bool value_seconds(const char *text, double *ret_seconds);

#endif
