/* Whether a kernel is as locked in as its launch had to make it, read from
 * outside (sandbox/posture.h): while it starts and when it says that it is
 * ready, before anybody's code has run in it, and when a gateway finds it that
 * did not launch it. One that differs is ended. Lives in the session's thread.
 */
#include "gateway/session/internal.h"

#include "base/log.h"
#include "sandbox/uid_pool.h"

#include "sandbox/posture.h"

#include <errno.h>
#include <unistd.h>

static posture_t expect(const self_t *self)
{
    const session_spec_t *spec = self->spec;
    const profile_limits_t *limits = &spec->limits;

    return (posture_t){
        .host_uid = spec->host_uid,
        .host_gid = users_group(spec->host_uid),
        .init_uid = spec->init_uid,
        .init_gid = (gid_t) spec->init_uid,
        .limits = {.address_space = limits->address_space,
                   .file_size = limits->file_size,
                   .open_files = limits->open_files,
                   .processes = profile_process_limit(limits, self->watch.group
                                                                  != NULL)},
        .without = spec->profile->without,
        .group = self->watch.group,
        .group_limits = profile_group_limits(limits),
    };
}

/* Its walls stand before its kernel starts, which takes a while. One that is
 * not yet as it must be (pid 1 may still become its program) is looked at once
 * more, when it is ready. */
void posture_look_ahead(self_t *self)
{
    const posture_t expected = expect(self);
    fault_t ignored;

    self->was_seen =
        posture_check(kernel_pid(self->kernel), &expected, &ignored) == 0;
}

void posture_admit(self_t *self)
{
    posture_t expected = expect(self);
    fault_t fault;

    if (!self->kernel || !kernel_pid(self->kernel))
        return; /* LAUNCHED says which process to look at */
    expected.was_seen = self->was_seen;
    if (posture_check(kernel_pid(self->kernel), &expected, &fault) < 0)
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "the sandbox is not as it must be: %s", fault.text);
    else if (self->state == LIFE_STARTING)
        session_set_ready(self);
}

void session_check_adopted(self_t *self)
{
    posture_t expected = expect(self);
    fault_t fault;
    int r;

    if (!self->spec->has_ids)
        return;
    expected.has_run = true;
    r = posture_check(kernel_pid(self->kernel), &expected, &fault);
    if (r == -EPROTO)
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "found by another gateway, the sandbox is not as it must "
                     "be: %s",
                     fault.text);
    else if (r < 0) /* it ends just now, or hides itself from an equal */
        log_notice("session=%s cannot be looked at: %s", self->spec->id,
                   fault.text);
}
