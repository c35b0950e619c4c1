/* See workspace_owner.h. */
#include "gateway/session/lifecycle/workspace_owner.h"

#include "base/log.h"
#include "workspace/owner.h"

#include <unistd.h>

#define GIVE_MS 5000 /* a session may have left millions of files */

static bool keeps_workspace(const session_spec_t *spec)
{
    return spec->is_lent
           && session_keeps_workspace(spec->state_folder, spec->workspace);
}

int workspace_owner_begin(const session_spec_t *spec, uid_t uid, fault_t *fault)
{
    int r;

    if (!keeps_workspace(spec) || uid == geteuid())
        return 0;
    r = owner_change(spec->workspace, geteuid(), uid, (gid_t) uid, GIVE_MS,
                     fault);
    if (r < 0 || !spec->process.has_ids || spec->process.host_uid == geteuid()
        || spec->process.host_uid == uid)
        return r;
    return owner_change(spec->workspace, spec->process.host_uid, uid,
                        (gid_t) uid, GIVE_MS, fault);
}

void workspace_owner_end(const session_spec_t *spec)
{
    fault_t fault;

    if (keeps_workspace(spec) && spec->process.has_ids
        && spec->process.host_uid != geteuid()
        && owner_change(spec->workspace, spec->process.host_uid, geteuid(),
                        getegid(), GIVE_MS, &fault)
               < 0)
        log_error("session=%s workspace: %s", spec->id, fault.text);
}
