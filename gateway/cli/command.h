/* A subcommand of the program: one file, one entry, found by cli.c through
 * the table of entries. Options are data: parsing, --help and the check for
 * unknown ones all come from the same rows. */
#ifndef HEARTH_GATEWAY_CLI_COMMAND_H
#define HEARTH_GATEWAY_CLI_COMMAND_H

#include "gateway/config/options.h"
#include "gateway/config/state_files.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *name;  /* "output-dir"; NULL ends a table */
    char letter;       /* 'o', or 0 */
    const char *value; /* what it takes, "DIR", see value.c; NULL: a switch */
    const char *help;  /* one line; NULL: not for people, not in --help */
} flag_t;

/* Rows that more than one command has. */
#define FLAG_JSON                                                              \
    {                                                                          \
        "json", 0, NULL, "print JSON"                                          \
    }
#define FLAG_NO_START                                                          \
    {                                                                          \
        "no-start", 0, NULL, "fail when no gateway runs"                       \
    }
#define FLAG_CONFIG                                                            \
    {                                                                          \
        "config", 'f', "FILE", "the configuration, instead of the user's"      \
    }

typedef struct arguments arguments_t;

typedef struct {
    const char *name;     /* "session create" */
    const char *operands; /* "ID [FILE]", "FILE..."; "" when none */
    const char *help;     /* one line; NULL: not for people, in no list */
    const char *more;     /* further lines of --help, or NULL */
    const flag_t *flags;  /* ends with an empty row; NULL when none */
    int (*run)(const arguments_t *arguments); /* gateway_exit_t */
    /* Instead, for a command whose options are no rows: the words behind its
     * name. */
    int (*run_words)(int count, char **words);
} command_t;

/* Whether the option was given. */
bool arguments_has(const arguments_t *self, const char *flag);
/* The value given last, or NULL. Lent for the life of the program. */
const char *arguments_value(const arguments_t *self, const char *flag);
/* The values of an option that may be repeated, in order: start with
 * *cursor = 0; NULL at the end. */
const char *arguments_each(const arguments_t *self, const char *flag,
                           size_t *cursor);
/* The seconds of an option whose value is a TIME; false when not given. */
bool arguments_seconds(const arguments_t *self, const char *flag,
                       double *ret_seconds);
/* NULL when there are fewer. */
const char *arguments_operand(const arguments_t *self, size_t index);

/* Says what is wrong with the command line, and where help is; returns
 * GATEWAY_EXIT_USAGE. */
int usage_error(const arguments_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Says what went wrong, "hearth: ...", and returns `status`. */
gateway_exit_t complain(gateway_exit_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The configuration: of --config where the command has it, else the user's.
 * NULL after it said what is wrong: GATEWAY_EXIT_ENVIRONMENT. */
options_t *arguments_options(const arguments_t *self);

/* The gateway itself, until it is told to end; `options` stay the caller's.
 * In gateway/serve/serve.c. */
int serve_main(options_t *options);

/* `hearth-kernelgateway` and the words behind it. */
int kernelgateway_main(int count, char **words);

/* The program: finds the command and runs it. */
int cli_main(int argc, char **argv);

/* Each ends with an entry without a name. */
extern const command_t serve_commands[];
extern const command_t kernelgateway_commands[];
extern const command_t session_commands[];
extern const command_t exec_commands[];
extern const command_t note_commands[];
extern const command_t revive_commands[];
extern const command_t replay_commands[];
extern const command_t trace_commands[];
extern const command_t attach_commands[];
extern const command_t lab_commands[];
extern const command_t files_commands[];
extern const command_t notebook_commands[];
extern const command_t notebook_diff_commands[];
extern const command_t audit_commands[];
extern const command_t gateway_commands[];
extern const command_t token_commands[];
extern const command_t viewer_commands[];
extern const command_t kernel_commands[];
extern const command_t doctor_commands[];
extern const command_t complete_commands[];

#endif
