/* What stands between a session and the host's kernel, by the name that a
 * profile gives it: a launcher each. One is built; another one brings kernels
 * that speak the same link and use the same workspace folder. */
#ifndef HEARTH_KERNELS_ISOLATION_H
#define HEARTH_KERNELS_ISOLATION_H

#include "base/fault.h"
#include "kernels/zygote.h"

/* In the order of the setting's words. */
typedef enum {
    ISOLATION_NAMESPACES, /* sandbox/ */
    ISOLATION_GVISOR,     /* runsc */
    ISOLATION_KVM,        /* a virtual machine for each session */
} isolation_t;

const char *isolation_name(const profile_t *profile);
/* Starts what forks the profile's kernels, as that user, or the caller's
 * (NULL). -ENOSYS: that one is not built. */
int isolation_start(const profile_t *profile, const char *package_folder,
                    const zygote_user_t *user, zygote_t **ret_zygote,
                    fault_t *fault);

#endif
