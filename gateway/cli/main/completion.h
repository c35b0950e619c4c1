/* hearth complete: what may stand at the end of a command line, for a shell's
 * completion. */
#ifndef HEARTH_GATEWAY_CLI_MAIN_COMPLETION_H
#define HEARTH_GATEWAY_CLI_MAIN_COMPLETION_H

/* Prints the possible completions of the last word; a first "--" is skipped.
 * Returns GATEWAY_EXIT_OK. */
int completion_print(int count, const char *const *words);

#endif
