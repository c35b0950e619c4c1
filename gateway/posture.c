/* Whether a kernel that says it is ready is as locked in as its launch had to
 * make it, read from outside (sandbox/posture.h). One that differs is ended
 * before anybody's code has run in it. Lives in the session's thread. */
#include "gateway/internal.h"

#include "base/privilege.h"

#include "sandbox/posture.h"

#include <unistd.h>

static posture_t expect(const self_t *self)
{
    const profile_t *profile = self->spec->profile;
    const profile_limits_t *limits = &profile->limits;

    return (posture_t){
        .host_uid = self->host_uid,
        .host_gid =
            privilege_gives_users() ? (gid_t) self->host_uid : getegid(),
        .init_uid = self->init_uid,
        .init_gid = (gid_t) self->init_uid,
        .limits = {.address_space = limits->address_space,
                   .file_size = limits->file_size,
                   .open_files = limits->open_files,
                   .processes = profile_process_limit(profile, self->watch.group
                                                                   != NULL)},
        .without = profile->without,
    };
}

void session_check_posture(self_t *self)
{
    const posture_t expected = expect(self);
    fault_t fault;

    if (!self->kernel || !kernel_pid(self->kernel))
        return; /* when it is known */
    if (posture_check(kernel_pid(self->kernel), &expected, &fault) < 0)
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "the sandbox is not as it must be: %s", fault.text);
}
