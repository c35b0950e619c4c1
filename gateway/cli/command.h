/* A subcommand of the program: one file, one entry, found by cli.c through
 * the table of entries. Options are data: parsing, --help and the check for
 * unknown ones all come from the same rows. */
#ifndef HEARTH_GATEWAY_CLI_COMMAND_H
#define HEARTH_GATEWAY_CLI_COMMAND_H

#include "gateway/gateway.h"
#include "gateway/options.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *name;  /* "output-dir"; NULL ends a table */
    char letter;       /* 'o', or 0 */
    const char *value; /* what it takes, "DIR"; NULL: a switch */
    const char *help;  /* one line; NULL: not for people, not in --help */
} flag_t;

typedef struct arguments arguments_t;

typedef struct {
    const char *name;     /* "session create" */
    const char *operands; /* for the usage line, "ID [FILE]"; "" when none */
    const char *help;     /* one line */
    const char *more;     /* further lines of --help, or NULL */
    const flag_t *flags;  /* ends with an empty row; NULL when none */
    size_t operands_min;
    size_t operands_max;
    int (*run)(const arguments_t *arguments); /* gateway_exit_t */
} command_t;

/* Whether the option was given. */
bool arguments_has(const arguments_t *self, const char *flag);
/* The value given last, or NULL. Lent for the life of the program. */
const char *arguments_value(const arguments_t *self, const char *flag);
/* The values of an option that may be repeated, in order: start with
 * *cursor = 0; NULL at the end. */
const char *arguments_each(const arguments_t *self, const char *flag,
                           size_t *cursor);
/* NULL when there are fewer. */
const char *arguments_operand(const arguments_t *self, size_t index);

/* Says what is wrong with the command line, and where help is; returns
 * GATEWAY_EXIT_USAGE. */
int usage_error(const arguments_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "1.5", "90s", "20m", "2h" -> seconds. False when it is none of them. */
bool parse_seconds(const char *text, double *ret_seconds);

/* The gateway itself, until it is told to end; `options` stay the caller's.
 * In gateway/serve.c. */
int serve_main(const options_t *options);

/* The program: finds the command and runs it. */
int cli_main(int argc, char **argv);

/* Each ends with an entry without a name. */
extern const command_t serve_commands[];
extern const command_t session_commands[];
extern const command_t exec_commands[];
extern const command_t attach_commands[];
extern const command_t notebook_commands[];
extern const command_t gateway_commands[];
extern const command_t kernel_commands[];
extern const command_t doctor_commands[];

#endif
