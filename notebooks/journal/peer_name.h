/* How the audit log and the notebooks name who sent a request. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_PEER_NAME_H
#define HEARTH_NOTEBOOKS_JOURNAL_PEER_NAME_H

#include <stddef.h>

/* Returns "client=…" for the identity of a socket at the session's own ports
 * (`front` is ""), "token=…" for the name of an HTTP client (`front` is
 * "http"), "viewer=…" for that of another front; to be freed. An identity of
 * letters, digits and -_.: stands as it is, any other as 0x and hexadecimal
 * digits. */
char *peer_name(const char *front, const void *identity, size_t size);

#endif
