/* Reports this process's rights over other users' processes. */
#ifndef HEARTH_BASE_CAPABILITY_H
#define HEARTH_BASE_CAPABILITY_H

#include <stdbool.h>

/* Returns true if this process can give a process any user and group: root can,
 * and so can a service with CAP_SETUID and CAP_SETGID. */
bool capability_gives_users(void);
/* Returns true if this process can inspect processes of any user
 * (CAP_SYS_PTRACE). */
bool capability_sees_users(void);

#endif
