/* A registry without threads and sockets: sessions whose actors are records of
 * what was said to them, and a management socket that is a record of answers.
 * A test that links this wraps the functions of both (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_REGISTRY_FAKES_H
#define HEARTH_TESTS_LIB_REGISTRY_FAKES_H

#include "gateway/config/options.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

/* Options with one profile. */
extern options_t fake_options;
extern profile_t fake_profile;

/* Sets the options to their defaults; forgets what was said and answered. A
 * setup of cmocka's. */
int fake_begin(void **state);

typedef enum {
    FAKE_FRESH,  /* starts */
    FAKE_POOLED, /* starts for the pool */
    FAKE_TAKEN,  /* taken over: alive, no start */
    FAKE_GONE,   /* taken over with a tombstone */
} fake_kind_t;

/* Adds a session of that id. */
session_entry_t *fake_add(session_table_t *table, const char *id,
                          fake_kind_t kind, int64_t now_ms);
/* The next session cannot have a thread. */
void fake_refuse_threads(void);
/* Returns a request whose content is {"n":number}. */
message_t *fake_request(int number);
/* Returns all that was said to sessions since the last call: "ID COMMAND TOKEN;
 * …", and for tools without a token "ID TOOLS ORDER …". */
const char *fake_said(void);
/* Returns the text of the last note, lent. */
const char *fake_noted(void);
/* Returns the last request about host tools that has a token, lent: "take P at
 * L: TEXT (number 5, 100 ms, over) for WHO". */
const char *fake_tools(void);
/* Returns the last interruption, lent: "kill m", "interrupt". */
const char *fake_interrupt(void);
/* Returns all answers since the last call: "NUMBER JSON; …", with sorted keys.
 */
const char *fake_answered(void);

#endif
