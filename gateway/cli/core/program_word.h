/* The word of a command line that names a program beside the kernel: its
 * number, as `hearth ps` lists it, or process:3, as `hearth output` prints it.
 */
#ifndef HEARTH_GATEWAY_CLI_CORE_PROGRAM_WORD_H
#define HEARTH_GATEWAY_CLI_CORE_PROGRAM_WORD_H

#include "gateway/cli/core/command.h"

#include <stdint.h>

/* Returns true if the word is meant to name a program, also if it is wrong: it
 * begins with "process:", or has digits alone. */
bool program_word_is_meant(const char *word);

/* Reads the number of the program, at least 1. Prints what is wrong with the
 * word. */
gateway_exit_t program_word_read(const arguments_t *arguments, const char *word,
                                 uint64_t *ret_number);

#endif
