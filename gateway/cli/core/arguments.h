/* Reads the words after a command's name by the rows of its table. */
#ifndef HEARTH_GATEWAY_CLI_CORE_ARGUMENTS_H
#define HEARTH_GATEWAY_CLI_CORE_ARGUMENTS_H

#include "gateway/cli/core/command.h"

/* One operand, as a command's `operands` describe it. */
typedef struct {
    const char *name; /* borrowed; not ended by NUL: "ID", "FILE|-" */
    size_t size;      /* length of `name` */
    bool is_optional; /* it is in brackets */
    bool is_many;     /* "FILE..." */
} operand_t;

/* Reads the operand at `index`; returns false after the last one. */
bool operand_at(const command_t *command, size_t index, operand_t *ret_operand);

/* Returns the row of "--name" or, with a letter, of "-n"; NULL if there is
 * none. */
const flag_t *find_flag(const command_t *command, const char *name, size_t size,
                        char letter);

bool is_help(const char *word);

/* Prints "usage: hearth exec [OPTION]... ID" in a line. */
void usage_print(const command_t *command, FILE *file);

/* Reads the words and runs the command, or says what is wrong with them. */
int arguments_run(const command_t *command, int count, char **words);

#endif
