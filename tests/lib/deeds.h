/* A record of what the code under test did to its surroundings, which are
 * fakes: one text for all deeds, and the contents of what was sent. */
#ifndef HEARTH_TESTS_LIB_DEEDS_H
#define HEARTH_TESTS_LIB_DEEDS_H

#include "base/bytes.h"

/* Adds a deed. */
void deeds_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Returns all deeds since the last call, lent: "iopub busy; kernel EXECUTE". */
const char *deeds_take(void);

/* Keeps the content of a message of that type. */
void deeds_keep(const char *type, bytes_t content);
/* Returns the content of the last message of that type, lent; "" if there was
 * none. */
const char *deeds_content(const char *type);

/* Forgets all deeds and contents. */
void deeds_forget(void);

#endif
