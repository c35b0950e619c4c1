/* See internal.h. The control groups of sessions: where they are, and
 * what stays of those that are gone. A session removes its own group; where
 * processes take long to die, where a launch was under way when it ended, and
 * where a gateway was killed, that is done here. To look through all groups
 * takes the longer the more sessions there are: only when one has gone, until
 * nothing of it is left. */
#include "gateway/registry/internal.h"

#include "base/log.h"
#include "gateway/config/state_files.h"

#include <sodium.h>

#include <string.h>

#define SOON_MS  2000        /* between two tries */
#define AGAIN_MS (5 * 60000) /* anyway: what nobody has foreseen */

/* "<session>.<number>": of a session that is there, or is to come? */
static bool is_kept(void *arg, const char *leaf)
{
    const registry_t *self = arg;
    const char *next = blank_id(self->blank);
    char id[SESSION_ID_MAX];
    const entry_t *entry;

    snprintf(id, sizeof id, "%.*s", (int) strcspn(leaf, "."), leaf);
    if (blank_is_there(self->blank) && strcmp(id, next) == 0)
        return true;
    entry = zhashx_lookup(self->by_id, id);
    return entry && !entry->is_gone;
}

/* How many stay. */
static size_t sweep(registry_t *self, bool waits)
{
    size_t left;
    size_t count = cgroups_sweep(self->cgroups, waits, is_kept, self, &left);

    if (count)
        log_notice("%zu control groups of sessions that are gone were removed",
                   count);
    return left;
}

void groups_sweep(registry_t *self)
{
    (void) sweep(self, true);
}

static int on_sweep(zloop_t *loop, int timer, void *arg)
{
    registry_t *self = arg;
    size_t left = sweep(self, false);

    (void) timer;
    self->groups_soon = left > 0;
    self->groups_timer = zloop_timer(
        loop, self->groups_soon ? SOON_MS : AGAIN_MS, 1, on_sweep, self);
    return 0;
}

void groups_sweep_soon(registry_t *self)
{
    if (self->groups_soon)
        return;
    if (self->groups_timer)
        zloop_timer_end(self->loop, self->groups_timer);
    self->groups_soon = true;
    self->groups_timer = zloop_timer(self->loop, SOON_MS, 1, on_sweep, self);
}

/* Before the zygotes, which are to be where the gateway is. The name keeps
 * gateways apart, and is the same for the next one on this state. */
int groups_find(registry_t *self, fault_t *fault)
{
    const char *state = self->options->state_dir;
    uint8_t hash[crypto_generichash_BYTES_MIN];
    char name[32];
    int r;

    crypto_generichash(hash, sizeof hash, (const uint8_t *) state,
                       strlen(state), NULL, 0);
    snprintf(name, sizeof name, "hearth-%02x%02x%02x%02x%02x%02x.", hash[0],
             hash[1], hash[2], hash[3], hash[4], hash[5]);
    r = cgroups_new("/sys/fs/cgroup", "/proc/self/cgroup",
                    (cgroup_mode_t) self->options->cgroups, name,
                    &self->cgroups, fault);
    if (r == 0)
        log_notice("limits by=%s %s", registry_limits_by(self),
                   cgroups_where(self->cgroups));
    return r;
}
