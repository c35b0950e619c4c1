/* See worker_place.h. */
#include "gateway/config/worker_place.h"

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

static int refuse(const char *key, const char *path, fault_t *fault)
{
    return fault_set(fault, errno, "%s: %s: %s", key, path, strerror(errno));
}

int worker_place_check(const char *key, const char *path, uid_t owner,
                       fault_t *fault)
{
    struct stat about;

    if (lstat(path, &about) < 0)
        return refuse(key, path, fault);
    if (!S_ISDIR(about.st_mode))
        return fault_set(fault, ENOTDIR,
                         "%s: %s is not a folder; remove it, or set %s to "
                         "another one",
                         key, path, key);
    if (about.st_uid != owner)
        return fault_set(fault, EPERM,
                         "%s: %s belongs to user %u, not to %u; remove it, or "
                         "set %s to another folder",
                         key, path, about.st_uid, owner, key);
    if (about.st_mode & OTHERS_WRITE)
        return fault_set(fault, EPERM,
                         "%s: other users can write to %s; remove it, or run "
                         "`chmod go-w` once its content is known",
                         key, path);
    return 0;
}

static int reach_one(const char *key, const char *path, uid_t user,
                     fault_t *fault)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return refuse(key, path, fault);
    if (about.st_mode & (about.st_uid == user ? S_IXUSR : S_IXOTH))
        return 0;
    return fault_set(fault, EACCES,
                     "%s: user %u, who runs downloads, cannot enter %s; run "
                     "`chmod o+x %s`, or set %s to another folder",
                     key, user, path, path, key);
}

int worker_place_reach(const char *key, const char *path, uid_t user,
                       fault_t *fault)
{
    cleanup_free char *whole = realpath(path, NULL);
    int r;

    if (!whole)
        return refuse(key, path, fault);
    r = reach_one(key, "/", user, fault);
    for (char *end = whole; r == 0 && *end;) {
        end += 1 + strcspn(end + 1, "/");
        char kept = *end;
        *end = '\0';
        r = reach_one(key, whole, user, fault);
        *end = kept;
    }
    return r;
}
