/* How tests have a session of fakes lose variables, and what they find of it in
 * its journal. */
#ifndef HEARTH_TESTS_LIB_LOSS_STEPS_H
#define HEARTH_TESTS_LIB_LOSS_STEPS_H

#include "gateway/session/core/session.h"
#include "gateway/session/requests/request.h"

/* The metadata of a cell whose client wants to learn of losses. */
#define LOSS_STEPS_READER "{\"hearth\":{\"reader\":\"exec\"}}"

/* Has a client send a cell with that metadata. */
void loss_steps_cell(session_t *self, const char *metadata);
/* Runs a cell that makes the variable df. */
void loss_steps_make_variable(session_t *self);
/* Has a fresh kernel take the place of the session's. */
void loss_steps_lose(session_t *self);
/* Returns a cell of the reader, which no session has; to be destroyed. */
request_t *loss_steps_reader_request(void);
/* Returns true if the reader has not got the last loss. */
bool loss_steps_is_due(const session_t *self);
/* Finds the last record of that type whose metadata or content has the text.
 * Returns its number; 0: there is none. */
uint64_t loss_steps_find(const session_t *self, const char *type,
                         const char *text);
/* Checks that the reader's next cell has that loss. */
void loss_steps_assert_reported(session_t *self, const char *loss);

#endif
