/* See cgroup_sweep.h. A session removes its own group. Others are removed here:
 * groups whose processes take long to die, of a launch that was under way at
 * the end, or of a killed gateway. A search of all groups takes longer with
 * more sessions. It is therefore done after a session has gone, or could not
 * remove a group, and repeated until these groups are removed. Groups are also
 * made in the main thread, in which this lives: a name that was taken is free
 * for a new group only after a sweep has forgotten it. */
#include "gateway/registry/launch/cgroup_sweep.h"

#include "base/buffer.h"
#include "base/log.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

#define SOON_MS  2000        /* between two tries */
#define AGAIN_MS (5 * 60000) /* also without a cause */

struct cgroup_sweep {
    zloop_t *loop;                /* borrowed */
    const cgroups_t *cgroups;     /* borrowed */
    const session_table_t *table; /* borrowed */
    const prealloc_t *prealloc;   /* borrowed */
    int timer;                    /* of the loop; 0: none */
    bool is_soon;                 /* the timer is the one of SOON_MS */
    char **taken;                 /* owned; names of groups without a kernel */
    size_t taken_count;
};

const char *cgroup_sweep_limits_by(const cgroups_t *cgroups)
{
    cgroup_mode_t mode = cgroups_mode(cgroups);

    return mode == CGROUP_NONE ? "watchdog" : cgroup_mode_name(mode);
}

/* Names the groups after the state's folder: other gateways have other names,
 * and the next gateway with this state has the same. */
int cgroup_sweep_find(const options_t *options, cgroups_t **ret_cgroups,
                      fault_t *fault)
{
    const char *state = options->state_dir;
    uint8_t hash[crypto_generichash_BYTES_MIN];
    char name[32];
    int r;

    crypto_generichash(hash, sizeof hash, (const uint8_t *) state,
                       strlen(state), NULL, 0);
    snprintf(name, sizeof name, "hearth-%02x%02x%02x%02x%02x%02x.", hash[0],
             hash[1], hash[2], hash[3], hash[4], hash[5]);
    r = cgroups_new("/sys/fs/cgroup", "/proc/self/cgroup",
                    (cgroup_mode_t) options->cgroups, name, ret_cgroups, fault);
    if (r == 0)
        log_notice("limits by=%s %s", cgroup_sweep_limits_by(*ret_cgroups),
                   cgroups_where(*ret_cgroups));
    return r;
}

cgroup_sweep_t *cgroup_sweep_new(zloop_t *loop, const cgroups_t *cgroups,
                                 const session_table_t *table,
                                 const prealloc_t *prealloc)
{
    cgroup_sweep_t *self = mem_new(sizeof *self);

    self->loop = loop;
    self->cgroups = cgroups;
    self->table = table;
    self->prealloc = prealloc;
    return self;
}

void cgroup_sweep_destroy(cgroup_sweep_t **self_p)
{
    cgroup_sweep_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->taken_count; i++)
        free(self->taken[i]);
    free(self->taken);
    free(self);
    *self_p = NULL;
}

static bool is_taken(const cgroup_sweep_t *self, const char *leaf)
{
    for (size_t i = 0; i < self->taken_count; i++)
        if (strcmp(self->taken[i], leaf) == 0)
            return true;
    return false;
}

/* Returns true if the group "<session>.<number>" belongs to a session that is
 * alive, or to the one that is forked next. A session without an owner does not
 * outlive the gateway. */
static bool is_kept(void *arg, const char *leaf)
{
    const cgroup_sweep_t *self = arg;
    const char *next = prealloc_id(self->prealloc);
    char id[SESSION_ID_MAX];
    const session_entry_t *entry;

    if (is_taken(self, leaf))
        return false;
    snprintf(id, sizeof id, "%.*s", (int) strcspn(leaf, "."), leaf);
    if (prealloc_is_there(self->prealloc) && strcmp(id, next) == 0)
        return true;
    entry = session_table_find_any(self->table, id);
    return entry && !session_entry_is_gone(entry)
           && !(entry->is_pooled && session_table_is_closing(self->table));
}

/* Forgets the names of groups that are removed: the next kernel of their
 * session may get such a name. */
static void forget_removed(cgroup_sweep_t *self)
{
    size_t count = 0;

    for (size_t i = 0; i < self->taken_count; i++) {
        cleanup_cgroup cgroup_t *group = NULL;
        fault_t ignored;

        if (cgroup_open(self->cgroups, self->taken[i], &group, &ignored) < 0)
            free(self->taken[i]);
        else
            self->taken[count++] = self->taken[i];
    }
    self->taken_count = count;
}

/* Returns how many groups are left. */
static size_t sweep(cgroup_sweep_t *self, bool waits)
{
    size_t left;
    size_t count = cgroups_sweep(self->cgroups, waits, is_kept, self, &left);

    if (count)
        log_notice("%zu control groups of kernels that have ended were removed",
                   count);
    forget_removed(self);
    return left;
}

void cgroup_sweep_run(cgroup_sweep_t *self)
{
    (void) sweep(self, true);
}

static int on_sweep(zloop_t *loop, int timer, void *arg)
{
    cgroup_sweep_t *self = arg;
    size_t left = sweep(self, false);

    (void) timer;
    self->is_soon = left > 0;
    self->timer = zloop_timer(loop, self->is_soon ? SOON_MS : AGAIN_MS, 1,
                              on_sweep, self);
    return 0;
}

void cgroup_sweep_run_soon(cgroup_sweep_t *self)
{
    if (self->is_soon)
        return;
    if (self->timer)
        zloop_timer_end(self->loop, self->timer);
    self->is_soon = true;
    self->timer = zloop_timer(self->loop, SOON_MS, 1, on_sweep, self);
}

void cgroup_sweep_take(cgroup_sweep_t *self, const char *name)
{
    size_t size = (self->taken_count + 1) * sizeof *self->taken;

    if (!is_taken(self, name)) {
        self->taken = mem_resize(self->taken, size);
        self->taken[self->taken_count++] = mem_text(name);
    }
    cgroup_sweep_run_soon(self);
}
