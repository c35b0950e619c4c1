/* The table of launchers. A further one is a further row: how it is started,
 * and then it answers zygote_launch and zygote_receive as a zygote does
 * (docs/PROTOCOL.zygote.md), whatever it starts. Called in the registry's
 * thread. */
#include "kernels/isolation.h"

#include <errno.h>

typedef int(start_fn)(const profile_t *profile, const char *package_folder,
                      const zygote_user_t *user, zygote_t **ret_zygote,
                      fault_t *fault);

static const struct {
    const char *name;
    start_fn *start; /* NULL: not built */
} launchers[] = {
    [ISOLATION_NAMESPACES] = {"namespaces", zygote_new},
    [ISOLATION_GVISOR] = {"gvisor", NULL},
    [ISOLATION_KVM] = {"kvm", NULL},
};

const char *isolation_name(const profile_t *profile)
{
    return launchers[profile->isolation].name;
}

int isolation_start(const profile_t *profile, const char *package_folder,
                    const zygote_user_t *user, zygote_t **ret_zygote,
                    fault_t *fault)
{
    start_fn *start = launchers[profile->isolation].start;

    if (!start)
        return fault_set(fault, ENOSYS,
                         "isolation = %s is not built into this hearth; "
                         "namespaces is what there is",
                         launchers[profile->isolation].name);
    return start(profile, package_folder, user, ret_zygote, fault);
}
