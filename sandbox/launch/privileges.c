/* Gives up every privilege that the new user namespace brought: all five
 * capability sets, the ways to get them back, and set-user-id programs. From
 * here on nothing in the sandbox can be undone from inside. */
#include "sandbox/launch/privileges.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOCKED_BITS                                                            \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP             \
     | SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED                 \
     | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static int drop_bounding_set(fault_t *fault)
{
    /* Ends at the first number that this kernel does not know. */
    for (unsigned long capability = 0;; capability++)
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return errno == EINVAL && capability > 0
                       ? 0
                       : fault_errno(fault, "bounding set");
}

static int set_thread_sets(uint32_t kept, fault_t *fault)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

    memset(sets, 0, sizeof sets);
    sets[0].effective = sets[0].permitted = sets[0].inheritable = kept;
    if (syscall(SYS_capset, &header, sets) < 0)
        return fault_errno(fault, "capset");
    return 0;
}

int privileges_forbid_new(launch_entry_t *entry, fault_t *fault)
{
    (void) entry;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fault_errno(fault, "prctl");
    return 0;
}

/* Drops all but `kept`, whatever program is started from now on. */
static int reduce(uint32_t kept, fault_t *fault)
{
    int r;

    if (prctl(PR_SET_SECUREBITS, LOCKED_BITS, 0, 0, 0) < 0)
        return fault_errno(fault, "securebits");
    if ((r = drop_bounding_set(fault)) < 0
        || (r = set_thread_sets(kept, fault)) < 0)
        return r;
    return 0;
}

int privileges_drop(launch_entry_t *entry, fault_t *fault)
{
    (void) entry;
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return fault_errno(fault, "ambient set");
    return reduce(0, fault);
}

/* Keeps CAP_KILL, also over exec. Pid 1 of a user of its own may signal the
 * payload's in this namespace, and must be able to after its program has
 * started. */
static int keep_kill(fault_t *fault)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

    if (syscall(SYS_capget, &header, sets) < 0)
        return fault_errno(fault, "capget");
    sets[0].inheritable |= 1U << CAP_KILL;
    if (syscall(SYS_capset, &header, sets) < 0)
        return fault_errno(fault, "inheritable set");
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_KILL, 0, 0) < 0)
        return fault_errno(fault, "ambient set");
    return reduce(1U << CAP_KILL, fault);
}

int privileges_keep_init(launch_entry_t *entry, fault_t *fault)
{
    return entry->launch->init_uid != 0 ? keep_kill(fault)
                                        : privileges_drop(entry, fault);
}
