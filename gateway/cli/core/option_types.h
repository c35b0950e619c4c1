/* Types of options and operands. The word that the help shows is the type:
 * "TIME", "FILE", "auto|never". One table checks the values and completes them.
 */
#ifndef HEARTH_GATEWAY_CLI_CORE_OPTION_TYPES_H
#define HEARTH_GATEWAY_CLI_CORE_OPTION_TYPES_H

#include <stdbool.h>
#include <stddef.h>

/* Where candidates for completion come from. */
typedef enum {
    OPTION_TYPE_ANY,      /* unknown */
    OPTION_TYPE_WORDS,    /* the words of "auto|never" */
    OPTION_TYPE_FILES,    /* a file of this machine */
    OPTION_TYPE_FOLDERS,  /* a folder of this machine */
    OPTION_TYPE_SESSIONS, /* the id of a session */
    OPTION_TYPE_OUTPUTS,  /* an output of the session that is given first */
    OPTION_TYPE_PROGRAMS, /* a program of the session that is given first */
} option_types_source_t;

/* Returns where candidates come from. The first `size` bytes of `word` are an
 * option's value word, or the name of an operand. In "A|B" the first known type
 * decides; words in lower case are OPTION_TYPE_WORDS. */
option_types_source_t option_types_source(const char *word, size_t size);

/* Returns NULL if `text` is a value of the type; else a sentence, to be freed,
 * that says what would be right: "a time (90s, 20m, 2h, 1d)", "one of
 * auto|never". */
char *option_types_fault(const char *word, const char *text);

/* Reads "1.5", "90s", "20m", "2h", "1d"; returns false if the text is not a
 * duration. */
bool option_types_seconds(const char *text, double *ret_seconds);

#endif
