/* Whose a workspace is that hearth keeps, where sessions have users that
 * /etc/subuid lends (session_users.h): the session's while it lives, and else
 * the user's, who could neither read nor remove it otherwise. A folder that
 * somebody named is not touched. Lives in the session's thread. */
#include "gateway/internal.h"

#include "base/buffer.h"
#include "base/log.h"
#include "workspace/owner.h"

#include <string.h>
#include <unistd.h>

#define GIVE_MS 5000 /* a session may have left millions of files */

static bool keeps_workspace(const session_spec_t *spec)
{
    cleanup_free char *kept = mem_format("%s/workspace", spec->state_folder);

    return spec->is_lent && strcmp(spec->workspace, kept) == 0;
}

int lending_begin(self_t *self, uid_t uid, fault_t *fault)
{
    const session_spec_t *spec = self->spec;

    return keeps_workspace(spec) && uid != geteuid() ? owner_change(
               spec->workspace, geteuid(), uid, (gid_t) uid, GIVE_MS, fault)
                                                     : 0;
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
