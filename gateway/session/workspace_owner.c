/* Whose a workspace is that hearth keeps, where sessions have users that
 * /etc/subuid lends (gateway/serve/user_namespace_setup.h): the session's while
 * it lives, and else the user's, who could neither read nor remove it
 * otherwise. A folder that somebody named is not touched. Lives in the
 * session's thread. */
#include "gateway/session/internal.h"

#include "base/log.h"
#include "workspace/owner.h"

#include <unistd.h>

#define GIVE_MS 5000 /* a session may have left millions of files */

static bool keeps_workspace(const session_spec_t *spec)
{
    return spec->is_lent
           && session_keeps_workspace(spec->state_folder, spec->workspace);
}

/* What could not be given back when it ended has its former user still. */
int lending_begin(self_t *self, uid_t uid, fault_t *fault)
{
    const session_spec_t *spec = self->spec;
    int r;

    if (!keeps_workspace(spec) || uid == geteuid())
        return 0;
    r = owner_change(spec->workspace, geteuid(), uid, (gid_t) uid, GIVE_MS,
                     fault);
    if (r < 0 || !spec->has_ids || spec->host_uid == geteuid()
        || spec->host_uid == uid)
        return r;
    return owner_change(spec->workspace, spec->host_uid, uid, (gid_t) uid,
                        GIVE_MS, fault);
}

void lending_end(self_t *self)
{
    const session_spec_t *spec = self->spec;
    fault_t fault;

    if (keeps_workspace(spec) && spec->has_ids && spec->host_uid != geteuid()
        && owner_change(spec->workspace, spec->host_uid, geteuid(), getegid(),
                        GIVE_MS, &fault)
               < 0)
        log_error("session=%s workspace: %s", spec->id, fault.text);
}
