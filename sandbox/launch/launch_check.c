/* See launch_check.h. */
#include "sandbox/launch/launch_check.h"
#include "sandbox/launch/entry.h"

#include <errno.h>
#include <unistd.h>

int launch_check(const sandbox_launch_t *launch, bool privileged,
                 fault_t *fault)
{
    if (launch->workspace_fd < 3 || launch->link_fd < 3 || launch->init_fd < 3
        || launch->status_fd < 3)
        return fault_set(fault, EBADF,
                         "sandbox: a launch needs four descriptors above 2");
    if (launch->cgroup_count > GROUPS_MAX
        || (launch->is_cgroup_folder && launch->cgroup_count != 1))
        return fault_set(fault, EINVAL,
                         "sandbox: a control group has one folder, or at most "
                         "%d files",
                         GROUPS_MAX);
    if (launch->mapper_fd != 0 && launch->mapper_fd < 3)
        return fault_set(fault, EBADF, "sandbox: no descriptor of a mapper");
    if (privileged && (launch->host_uid == 0 || launch->host_gid == 0))
        return fault_set(fault, EPERM,
                         "sandbox: a kernel never runs as root: give it a user "
                         "and group of its own");
    if (!privileged && launch->init_uid != 0)
        return fault_set(fault, EPERM,
                         "sandbox: only root, or a process with CAP_SETUID and "
                         "CAP_SETGID, can give pid 1 a user of its own");
    if (!privileged
        && (launch->host_uid != geteuid() || launch->host_gid != getegid()))
        return fault_set(
            fault, EPERM,
            "sandbox: only root, or a process with CAP_SETUID and CAP_SETGID, "
            "can give a kernel another user than its own");
    return 0;
}
