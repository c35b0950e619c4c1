/* The table of all commands. */
#ifndef HEARTH_GATEWAY_CLI_MAIN_COMMAND_TABLE_H
#define HEARTH_GATEWAY_CLI_MAIN_COMMAND_TABLE_H

#include "gateway/cli/core/command.h"

/* Returns the index-th command, in the order of --help; NULL after the last
 * one. */
const command_t *command_table_at(size_t index);
/* Returns the command whose name, one or two words, the line begins with;
 * *ret_words is the number of these words. NULL without such a command. */
const command_t *command_table_find(int count, const char *const *words,
                                    int *ret_words);
/* Returns true if `word` is the first of a command's two words. */
bool command_table_is_group(const char *word);
/* Returns the second word of a command of that group; its whole name if `group`
 * is NULL. Returns NULL if the command belongs to another group or is
 * internal. */
const char *command_table_word(const command_t *command, const char *group);

#endif
