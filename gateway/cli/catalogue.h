/* All commands there are. */
#ifndef HEARTH_GATEWAY_CLI_CATALOGUE_H
#define HEARTH_GATEWAY_CLI_CATALOGUE_H

#include "gateway/cli/command.h"

/* The index-th command, in the order of --help; NULL behind the last one. */
const command_t *catalogue_at(size_t index);
/* The entry whose one or two words these begin with; *ret_words says how many
 * they are. NULL: there is none. */
const command_t *catalogue_find(int count, const char *const *words,
                                int *ret_words);
/* Whether it is the first of a command's two words. */
bool catalogue_is_group(const char *word);
/* The second word of a command of that group, the whole name when `group` is
 * NULL; NULL when it belongs to another one, or is not for people. */
const char *catalogue_word(const command_t *command, const char *group);

#endif
