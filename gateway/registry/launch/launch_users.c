/* See launch_users.h. Lives in the main thread. */
#include "gateway/registry/launch/launch_users.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/log.h"
#include "sandbox/users/uid_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct launch_users {
    const options_t *options; /* borrowed */
    uid_pool_t *pool;         /* owned; NULL: all have the gateway's user */
    zygote_user_t zygotes;    /* set if has_zygotes */
    bool has_zygotes;         /* zygotes have a user of their own */
};

/* Makes the pool. The last user of the range is that of all sessions' pid 1,
 * the one before it is the zygotes'. */
static uid_pool_t *make_pool(const options_t *options)
{
    uint64_t count = options->users.uid_count;

    if (!capability_gives_users() || !count)
        return NULL;
    if (count > 1)
        count--;
    if (count > 1)
        count--;
    return uid_pool_new((uid_t) options->users.uid_first, count);
}

static int choose_zygotes(launch_users_t *self, cgroups_t *cgroups,
                          fault_t *fault)
{
    const options_t *options = self->options;
    const char *why =
        options_refuse_zygote_user(options, cgroups_mode(cgroups) == CGROUP_V1);

    if (why && options->users.zygote_user == OPTIONS_ZYGOTE_OWN)
        return fault_set(fault, EPERM, "gateway/zygote_user = own: %s", why);
    if (options->users.lends_subids) {
        /* Zygotes run without the gateway's privilege over the range. */
        self->has_zygotes = true;
        self->zygotes =
            (zygote_user_t){.uid = geteuid(),
                            .gid = getegid(),
                            .first = (uid_t) options->users.uid_first,
                            .count = options->users.uid_count};
        return 0;
    }
    if (why || !options_wants_zygote_user(options))
        return 0;
    self->has_zygotes = true;
    self->zygotes = (zygote_user_t){.uid = options_zygote_uid(options),
                                    .gid = (gid_t) options_zygote_uid(options),
                                    .first = (uid_t) options->users.uid_first,
                                    .count = options->users.uid_count};
    log_notice("zygotes user=%u", self->zygotes.uid);
    return cgroups_admit(cgroups, (gid_t) self->zygotes.uid, fault);
}

int launch_users_new(const options_t *options, cgroups_t *cgroups,
                     launch_users_t **ret_users, fault_t *fault)
{
    cleanup_launch_users launch_users_t *self = mem_new(sizeof *self);
    int r;

    self->options = options;
    self->pool = make_pool(options);
    r = choose_zygotes(self, cgroups, fault);
    if (r < 0)
        return r;
    *ret_users = take_ptr(self);
    return 0;
}

void launch_users_destroy(launch_users_t **self_p)
{
    launch_users_t *self = *self_p;

    if (!self)
        return;
    uid_pool_destroy(&self->pool);
    free(self);
    *self_p = NULL;
}

const zygote_user_t *launch_users_of_zygotes(const launch_users_t *self)
{
    return self->has_zygotes ? &self->zygotes : NULL;
}

/* Returns the users of a worker that is not root: what it runs has its own. */
static download_users_t share(const launch_users_t *self)
{
    download_users_t users = {
        .has_own = self->has_zygotes,
        .worker = self->zygotes,
        .sandbox_uid = self->has_zygotes ? self->zygotes.uid : geteuid(),
        .sandbox_gid = self->has_zygotes ? self->zygotes.gid : getegid(),
    };

    if (users.has_own) {
        /* A range without the worker's own user, so that the mapper gives it
         * that one, too (sandbox/users/mapper.c). */
        users.worker.first += (uid_t) users.worker.count - 1;
        users.worker.count = 1;
    }
    return users;
}

download_users_t launch_users_of_downloads(const launch_users_t *self)
{
    download_users_t users = share(self);

    /* Nothing in a sandbox may be root. */
    if (!users.has_own && self->pool && geteuid() == 0
        && !options_lacks_sandbox_user(self->options)) {
        users.sandbox_uid = options_zygote_uid(self->options);
        users.sandbox_gid = (gid_t) users.sandbox_uid;
    }
    return users;
}

uid_t launch_users_of_init(const launch_users_t *self)
{
    const options_t *options = self->options;

    if (!capability_gives_users() || options->users.uid_count < 2)
        return 0;
    return (uid_t) (options->users.uid_first + options->users.uid_count - 1);
}

uid_t launch_users_choose(launch_users_t *self, bool has_folder)
{
    /* A folder of the user is written to as the user. */
    if (!self->pool || (has_folder && self->options->users.lends_subids))
        return geteuid();
    return uid_pool_choose(self->pool);
}

uid_t launch_users_found(const launch_users_t *self,
                         const session_entry_t *entry)
{
    const options_t *options = self->options;
    struct stat about;

    if (!self->pool || stat(entry->workspace, &about) < 0)
        return geteuid();
    return options->users.lends_subids
                   && (about.st_uid < options->users.uid_first
                       || about.st_uid - options->users.uid_first
                              >= options->users.uid_count)
               ? geteuid()
               : about.st_uid;
}

/* Chooses the user anew if users come from /etc/subuid. A workspace in hearth's
 * state can be given to any of them: it belongs to the gateway's user again
 * after its session has ended. */
uid_t launch_users_revived(launch_users_t *self, const session_entry_t *entry)
{
    cleanup_free char *state =
        session_state_folder(self->options->state_dir, entry->id);
    bool has_folder = !session_keeps_workspace(state, entry->workspace);

    return self->options->users.lends_subids
               ? launch_users_choose(self, has_folder)
               : entry->host_uid;
}

void launch_users_hold(launch_users_t *self, session_entry_t *entry, uid_t uid)
{
    launch_users_release(self, entry);
    entry->host_uid = uid;
    entry->holds_user = self->pool != NULL;
    if (entry->holds_user)
        uid_pool_hold(self->pool, uid);
}

void launch_users_release(launch_users_t *self, session_entry_t *entry)
{
    if (entry->holds_user)
        uid_pool_release(self->pool, entry->host_uid);
    entry->holds_user = false;
}
