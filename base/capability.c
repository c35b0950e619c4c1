/* See capability.h. Asks the kernel each time, so that nothing remembered can
 * be out of date. */
#include "base/capability.h"

#include <linux/capability.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns true if this process has the wanted capabilities, all of which are in
 * the first word. */
static bool has(unsigned wanted)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};

    return syscall(SYS_capget, &header, sets) == 0
           && (sets[0].effective & wanted) == wanted;
}

bool capability_gives_users(void)
{
    return has(1u << CAP_SETUID | 1u << CAP_SETGID);
}

bool capability_sees_users(void)
{
    return has(1u << CAP_SYS_PTRACE);
}
