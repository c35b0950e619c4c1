/* What this process may do to others' identities. */
#ifndef HEARTH_BASE_CAPABILITY_H
#define HEARTH_BASE_CAPABILITY_H

#include <stdbool.h>

/* Whether it can give a process any user and group: root can, and so can a
 * service with CAP_SETUID and CAP_SETGID. */
bool capability_gives_users(void);
/* Whether it can look into processes of any user (CAP_SYS_PTRACE). */
bool capability_sees_users(void);

#endif
