/* See sandbox_check.h. */
#include "gateway/session/lifecycle/sandbox_check.h"

#include "sandbox/users/uid_pool.h"
#include "sandbox/verification/verification.h"

int sandbox_check(const session_spec_t *spec, pid_t pid, cgroup_t *group,
                  sandbox_check_when_t when, fault_t *fault)
{
    const profile_limits_t *limits = &spec->limits;
    verification_t expected = {
        .host_uid = spec->process.host_uid,
        .host_gid = uid_pool_group(spec->process.host_uid),
        .init_uid = spec->process.init_uid,
        .init_gid = (gid_t) spec->process.init_uid,
        .limits = {.address_space = limits->address_space,
                   .file_size = limits->file_size,
                   .open_files = limits->open_files,
                   .processes = profile_process_limit(limits, group != NULL)},
        .without = spec->profile->without,
        .group = group,
        .group_limits = profile_group_limits(limits),
        .was_seen = when == SANDBOX_CHECK_AGAIN,
        .has_run = when == SANDBOX_CHECK_ADOPTED,
    };

    return verification_check(pid, &expected, fault);
}
