/* The process that a keeper watches: started, written to and read, signalled,
 * ended with all its descendants. */
#ifndef HEARTH_KERNELS_KEEPER_CHILD_H
#define HEARTH_KERNELS_KEEPER_CHILD_H

#include "protocol/keeper.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;        /* leader of its session; 0: it was not started */
    int input;        /* owned; -1: closed */
    int outputs[2];   /* owned; stdout and stderr; -1: at the end */
    bool is_terminal; /* input and outputs[0] are a terminal's other end */
    int silent;       /* owned; that end after the terminal's output; or -1 */
} keeper_child_t;

#define KEEPER_CHILD_NONE ((keeper_child_t){0, -1, {-1, -1}, false, -1})

/* Starts the program of a START message. On failure *ret_code is an errno and
 * the result says what failed; KEEPER_EXITED: it runs. */
keeper_end_t keeper_child_start(keeper_child_t *self,
                                const keeper_message_t *start, int *ret_code);
/* Signals the process and those of its group; in a terminal those that have it
 * now. */
void keeper_child_signal(const keeper_child_t *self, int number);
/* Kills the caller's descendants, all that it sees at once. */
void keeper_child_kill_all(void);
/* Gives a terminal its size. */
void keeper_child_resize(const keeper_child_t *self, unsigned rows,
                         unsigned columns);
/* Ends its input: it is closed, or a terminal gets the character that says so.
 */
void keeper_child_end_input(keeper_child_t *self);
/* Notes the end of an output. A terminal's other end stays open: the program
 * may have closed the terminal and live, and a hangup would end it. */
void keeper_child_end_output(keeper_child_t *self, int which);
/* Closes everything. */
void keeper_child_close(keeper_child_t *self);

#endif
