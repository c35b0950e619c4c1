/* See owner.h. Owns nothing between calls; any thread. */
#include "workspace/owner.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "workspace/beneath.h"
#include "workspace/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct {
    uid_t from, uid;
    gid_t gid;
} change_t;

/* Looks at a file and changes it by one descriptor, so that it is the same
 * file. */
static int change(int fd, const change_t *change_of_owner, fault_t *fault)
{
    struct stat about;

    if (fstat(fd, &about) < 0)
        return fault_set(fault, errno, "the owner of a file: %s",
                         strerror(errno));
    if (about.st_uid != change_of_owner->from)
        return 0;
    return fchownat(fd, "", change_of_owner->uid, change_of_owner->gid,
                    AT_EMPTY_PATH)
                   == 0
               ? 0
               : fault_set(fault, errno, "give a file to user %u: %s",
                           change_of_owner->uid, strerror(errno));
}

static int change_one(int root, const char *path,
                      const change_t *change_of_owner, fault_t *fault)
{
    cleanup_fd int fd = -1;
    int r = beneath_open(root, path, O_PATH | O_NOFOLLOW, 0, &fd, fault);

    return r < 0 ? r : change(fd, change_of_owner, fault);
}

int owner_change(const char *folder, uid_t from, uid_t uid, gid_t gid,
                 int limit_ms, fault_t *fault)
{
    const change_t change_of_owner = {from, uid, gid};
    int64_t deadline = clock_monotonic_ms() + limit_ms;
    cleanup_walk walk_t *walk = NULL;
    cleanup_fd int root = -1;
    walk_entry_t entry;
    fault_t ignored;
    int r = beneath_root(folder, &root, fault);

    if (r < 0 || (r = walk_new(root, WALK_DEPTH_MAX, false, &walk, fault)) < 0)
        return r;
    r = change(root, &change_of_owner, fault);
    while (walk_next(walk, &entry)) {
        if (clock_monotonic_ms() > deadline)
            return fault_set(fault, ETIMEDOUT,
                             "after %d ms not all of %.150s is user %u's",
                             limit_ms, folder, uid);
        if (entry.status.st_uid != from)
            continue;
        /* A path that is too long for one name cannot be looked up. */
        if (change_one(root, entry.path, &change_of_owner,
                       r < 0 ? &ignored : fault)
                < 0
            && r == 0)
            r = -fault->code;
    }
    return r;
}
