/* Sandboxes, as E2B's clients know them: sessions that were made at E2B's door.
 * Data that a session lacks is noted here, over a restart: when the sandbox is
 * to end, the client's metadata, and variables for its code. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_H

#include "gateway/http/core/http.h"

#define SANDBOX_SECONDS_MAX 31536000    /* of a sandbox's time */
#define SANDBOX_TEXTS_MAX   (64u << 10) /* bytes of metadata, or of variables */

/* Notes a session as a sandbox that ends after that time. `note` is
 * taken: {"template","metadata","envs"}. */
void sandbox_add(http_t *http, const char *session, json_t *note,
                 double seconds);
/* Returns the note of a sandbox, lent: {"template","metadata","envs","started",
 * "end"}, times in microseconds of the wall clock. NULL if the session is not a
 * sandbox or is gone. */
json_t *sandbox_find(const http_t *http, const char *session);
/* Sets the time from now after which it ends. With `only_later` an end that is
 * later stays. */
void sandbox_set_end(http_t *http, const char *session, double seconds,
                     bool only_later);
/* Forgets a sandbox that has ended. */
void sandbox_forget(http_t *http, const char *session);
/* Returns false if the object has a member that is not text, or is longer than
 * SANDBOX_TEXTS_MAX in all. NULL and null are empty. */
bool sandbox_are_texts(json_t *object);
/* Returns true if they are texts whose names may be those of variables. */
bool sandbox_are_variables(json_t *object);

/* Ends the sandboxes whose time is over, and forgets those that are gone. */
void sandboxes_on_tick(http_t *http);

#endif
