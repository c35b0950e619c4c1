/* Notes of the gateway in a session's notebook. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_SESSION_NOTE_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_SESSION_NOTE_H

#include "gateway/registry/core/parts.h"

/* Adds a note to the notebook of a session, if it still takes notes. */
void session_note_add(const registry_parts_t *parts, const char *session,
                      const char *text);

#endif
