/* A person at a terminal who answers input() and getpass(). */
#ifndef HEARTH_GATEWAY_CLI_ANSWER_H
#define HEARTH_GATEWAY_CLI_ANSWER_H

#include "base/buffer.h"

#include <stdbool.h>

typedef struct answer answer_t;

/* `stdin_is_taken`: the code came from there, so the person is looked for at
 * /dev/tty. NULL when there is none. */
answer_t *answer_new(bool stdin_is_taken);
/* The terminal is as it was before. */
void answer_destroy(answer_t **self_p);
#define cleanup_answer CLEANUP(answer_destroy)

/* A question is open from here until a line was read or it is given up. */
void answer_begin(answer_t *self, bool is_password);
bool answer_is_open(const answer_t *self);
void answer_give_up(answer_t *self);
/* True when a line is there, without its newline; the end of the input is
 * the text "\x04". Never waits. */
bool answer_read(answer_t *self, buffer_t *ret_line);
/* The same, but it waits; false: a signal came. */
bool answer_wait(answer_t *self, buffer_t *ret_line);

#endif
