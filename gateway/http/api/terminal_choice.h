/* In which session a terminal is opened, and in which folder. Jupyter's clients
 * name at most a folder. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_API_TERMINAL_CHOICE_H
#define HEARTH_GATEWAY_HTTP_API_TERMINAL_CHOICE_H

#include "base/fault.h"

#include <jansson.h>

typedef struct {
    const json_t *body;     /* of the request: `session`, `cwd` */
    json_t *documents;      /* Jupyter's sessions, by id: `path`, `kernel` */
    const json_t *sessions; /* array: the living ones */
} terminal_wish_t;

typedef struct {
    const char *session; /* id; lent by the wish */
    const char *folder;  /* in its workspace; lent by the wish; or NULL */
} terminal_choice_t;

/* Chooses the first of these that exists:
 *
 *     the session that the body names (an id, its unique beginning, or a name)
 *     the session whose workspace `cwd` is in
 *     the only session with a document in `cwd`
 *     the only session with a document
 *     the only session
 *
 * Returns -ENOENT if no session fits, -EEXIST if several do; the sentence
 * says what to do. */
int terminal_choice_make(const terminal_wish_t *wish,
                         terminal_choice_t *ret_choice, fault_t *fault);

#endif
