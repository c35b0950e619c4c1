/* Answers that a session has not given yet: since when the registry waits for
 * one, and the last description that the session gave. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_RESPONSES_H
#define HEARTH_GATEWAY_REGISTRY_CORE_RESPONSES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#define RESPONSE_MS 1000 /* after this time an answer is late */

typedef struct {
    int64_t asked_ms;   /* monotonic; when the first open question was asked;
                           0: no answer is outstanding */
    json_t *last_shown; /* owned; the session as it last described itself, or
                           NULL */
} response_t;

/* Frees what `self` owns. */
void responses_clear(response_t *self);
/* Notes a question. Several open questions count from the first one. */
void responses_asked(response_t *self, int64_t now_ms);
/* Notes an answer. `session` is the description in it, or NULL. */
void responses_came(response_t *self, const json_t *session);
/* Returns true if an answer is outstanding for `patience_ms` or longer. */
bool responses_are_late(const response_t *self, int64_t patience_ms,
                        int64_t now_ms);
/* Returns the last known description with `responds` false; the caller owns
 * it. A session that never answered has its id, its profile and the state
 * "starting". */
json_t *responses_last(const response_t *self, const char *id,
                       const char *profile);
/* Returns the error SessionNotResponding; the caller owns it. */
json_t *responses_error(const response_t *self, const char *id, int64_t now_ms);

#endif
