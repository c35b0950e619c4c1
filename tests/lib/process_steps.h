/* What tests have clients do with processes beside the kernel: the session is
 * one of fakes, and the keepers are too (fake_keeper.h). */
#ifndef HEARTH_TESTS_LIB_PROCESS_STEPS_H
#define HEARTH_TESTS_LIB_PROCESS_STEPS_H

#include "gateway/session/processes/process.h"
#include "tests/lib/session_fakes.h"

/* Makes a session with a kernel; a setup of cmocka's. */
int process_steps_begin(void **state);
/* Adds a process that runs, lent. */
process_t *process_steps_add(session_t *self);
/* Returns a client's message, for the caller. */
message_t *process_steps_message(const char *client, const char *type,
                                 const char *content);
/* Has the session serve a message, which is taken. */
void process_steps_serve(session_t *self, message_t *message);
/* Has a client ask for process_WORD. */
void process_steps_ask_as(session_t *self, const char *client, const char *word,
                          const char *content);
/* Has the client "me" ask for process_WORD. */
void process_steps_ask(session_t *self, const char *word, const char *content);
/* Checks that the answer to the last request of that word was this error. */
void process_steps_refused(const char *word, const char *ename,
                           const char *evalue);

#endif
