/* A subcommand of the program: one file, one entry, found by cli.c through
 * the table of entries. Options are data: parsing, --help and the check for
 * unknown ones all come from the same rows. */
#ifndef HEARTH_GATEWAY_CLI_CORE_COMMAND_H
#define HEARTH_GATEWAY_CLI_CORE_COMMAND_H

#include "gateway/config/options.h"
#include "gateway/config/state_files.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    const char *name;  /* "output-dir"; NULL ends a table */
    char letter;       /* 'o', or 0 */
    const char *value; /* its value's type, "DIR"; NULL: a switch */
    const char *help;  /* one line; NULL: internal, not in --help */
} flag_t;

/* Rows that more than one command has. */
#define FLAG_JSON                                                              \
    {                                                                          \
        "json", 0, NULL, "print JSON"                                          \
    }
#define FLAG_NO_START                                                          \
    {                                                                          \
        "no-start", 0, NULL, "fail if no gateway runs"                         \
    }
#define FLAG_CONFIG                                                            \
    {                                                                          \
        "config", 'f', "FILE", "configuration file, instead of the user's"     \
    }

typedef struct arguments arguments_t;

typedef struct {
    const char *name;     /* "session create" */
    const char *operands; /* "ID [FILE]", "FILE..."; "" when none */
    const char *help;     /* one line; NULL: internal, in no list */
    const char *more;     /* further lines of --help, or NULL */
    const flag_t *flags;  /* ends with an empty row; NULL when none */
    /* The name of the words after "--", "JUPYTER_OPTION", which are for another
     * program; NULL: they are operands like the others. */
    const char *rest;
    bool is_rest_optional; /* there may be no such words */
    /* Unknown words are skipped, as ipykernel does it, and named on standard
     * error. */
    bool passes_over;
    int (*run)(const arguments_t *arguments); /* gateway_exit_t */
    /* Used instead of `run` by a command whose options are not rows: gets the
     * words after its name. */
    int (*run_words)(int count, char **words);
} command_t;

/* Returns true if the option was given. */
bool arguments_has(const arguments_t *self, const char *flag);
/* Returns the last value that was given, or NULL. Valid for the life of the
 * program. */
const char *arguments_value(const arguments_t *self, const char *flag);
/* Returns the values of a repeatable option, in order: start with *cursor = 0;
 * NULL at the end. */
const char *arguments_each(const arguments_t *self, const char *flag,
                           size_t *cursor);
/* Reads the seconds of an option whose value is a TIME; returns false if it was
 * not given. */
bool arguments_seconds(const arguments_t *self, const char *flag,
                       double *ret_seconds);
/* Returns an operand, NULL if there are fewer. */
const char *arguments_operand(const arguments_t *self, size_t index);
/* Returns a word for another program, of a command that has some; NULL if there
 * are fewer. */
const char *arguments_rest(const arguments_t *self, size_t index);

/* Prints what is wrong with the command line, and where help is; returns
 * GATEWAY_EXIT_USAGE. */
int usage_error(const arguments_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Prints "hearth: ...", what went wrong, and returns `status`. */
gateway_exit_t complain(gateway_exit_t status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Reads the configuration: that of --config if the command has the option, else
 * the user's. Returns NULL after it printed what is wrong: then the exit code
 * is GATEWAY_EXIT_ENVIRONMENT. */
options_t *arguments_options(const arguments_t *self);

/* Prints all findings, errors before warnings, one per line. */
void report_print(const config_report_t *report, FILE *file);

/* Each ends with an entry without a name. */
extern const command_t serve_commands[];
extern const command_t kernelgateway_commands[];
extern const command_t session_commands[];
extern const command_t exec_commands[];
extern const command_t output_commands[];
extern const command_t run_commands[];
extern const command_t process_commands[];
extern const command_t mcp_commands[];
extern const command_t tools_commands[];
extern const command_t packages_commands[];
extern const command_t fetch_commands[];
extern const command_t clone_commands[];
extern const command_t note_commands[];
extern const command_t revive_commands[];
extern const command_t replay_commands[];
extern const command_t trace_commands[];
extern const command_t attach_commands[];
extern const command_t lab_commands[];
extern const command_t window_commands[];
extern const command_t files_commands[];
extern const command_t notebook_commands[];
extern const command_t notebook_verify_commands[];
extern const command_t notebook_attest_commands[];
extern const command_t notebook_diff_commands[];
extern const command_t audit_commands[];
extern const command_t gateway_commands[];
extern const command_t logs_commands[];
extern const command_t prune_commands[];
extern const command_t version_commands[];
extern const command_t token_commands[];
extern const command_t viewer_commands[];
extern const command_t kernel_commands[];
extern const command_t config_commands[];
extern const command_t doctor_commands[];

#endif
