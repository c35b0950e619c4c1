/* Names the sender of a request, for the audit log and the notebooks. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_PEER_NAME_H
#define HEARTH_NOTEBOOKS_JOURNAL_PEER_NAME_H

#include <stddef.h>

/* Returns a name, to be freed. It is "client=…" for the identity of a socket at
 * the session's own ports (`frontend` is ""). It is "token=…" for the name of
 * an HTTP client (`frontend` is "http"), and "viewer=…" for a client of another
 * frontend. An identity of letters, digits and -_.: is used unchanged, any
 * other as 0x and hexadecimal digits. */
char *peer_name(const char *frontend, const void *identity, size_t size);

#endif
