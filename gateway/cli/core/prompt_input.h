/* Reads a person's answers to input() and getpass() from a terminal. */
#ifndef HEARTH_GATEWAY_CLI_CORE_PROMPT_INPUT_H
#define HEARTH_GATEWAY_CLI_CORE_PROMPT_INPUT_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct prompt_input prompt_input_t;

/* Opens the terminal. `stdin_is_taken`: the code came from stdin, so /dev/tty
 * is used. NULL if there is no terminal. */
prompt_input_t *prompt_input_new(bool stdin_is_taken);
/* Restores the terminal. */
void prompt_input_destroy(prompt_input_t **self_p);
#define cleanup_prompt_input CLEANUP(prompt_input_destroy)

/* Opens a question. It is open until a line was read or it was cancelled. */
void prompt_input_begin(prompt_input_t *self, bool is_password);
bool prompt_input_is_open(const prompt_input_t *self);
void prompt_input_give_up(prompt_input_t *self);
/* Returns true if a line has come, without its newline. The end of the input is
 * the text "\x04". Never waits. */
bool prompt_input_read(prompt_input_t *self, buffer_t *ret_line);
/* Reads a line like prompt_input_read, but waits; false if a signal came. */
bool prompt_input_wait(prompt_input_t *self, buffer_t *ret_line);

#endif
