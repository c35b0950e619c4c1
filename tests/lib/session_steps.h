/* What tests have a session of fakes go through. */
#ifndef HEARTH_TESTS_LIB_SESSION_STEPS_H
#define HEARTH_TESTS_LIB_SESSION_STEPS_H

#include "tests/lib/session_fakes.h"

/* Makes a session whose journal has its launch; a setup of cmocka's. */
int fake_session_begin_recorded(void **state);
/* Has a client send a request, which the session receives. */
void fake_session_request(session_t *self, const char *id, const char *type);
/* Has the kernel reply to the running request. */
void fake_session_reply(session_t *self);
/* Makes the session anew out of its journal, as the next gateway does. */
void fake_session_take_over(session_t *self);

/* Runs a cell: a client has sent it, and the kernel has it. */
void fake_session_run(session_t *self);
/* Has that signal kill the kernel. */
void fake_session_die(session_t *self, int code);

#endif
