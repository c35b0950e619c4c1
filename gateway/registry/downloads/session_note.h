/* Notes of the gateway in a session's notebook. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_SESSION_NOTE_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_SESSION_NOTE_H

#include "gateway/registry/core/parts.h"

#include <jansson.h>
#include <stdbool.h>

/* A note: a sentence, and the request of a client that was done. */
typedef struct {
    const char *session; /* borrowed; its id */
    const char *who;     /* borrowed; asked, as in the audit log */
    const char *text;    /* borrowed */
    const char *name;    /* static; of the call that code would make for it */
    json_t *arguments;   /* taken; the request, as such a call has it */
    json_t *result;      /* borrowed; the reply */
    bool is_revival;     /* a revival made it again */
} session_note_t;

/* Adds a note to the notebook of a session, if it still takes notes. A replay
 * makes a client's request again by it; the calls of code have records of their
 * own. */
void session_note_add(const registry_parts_t *parts,
                      const session_note_t *note);

#endif
