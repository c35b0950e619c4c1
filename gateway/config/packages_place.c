/* See packages_place.h. */
#include "gateway/config/packages_place.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

bool packages_place_is_wanted(const options_t *options)
{
    for (size_t i = 0; i < options->profile_count; i++)
        if (options->profiles[i]->packages.index)
            return true;
    return false;
}

int packages_place_check(const char *path, uid_t owner, fault_t *fault)
{
    struct stat about;

    if (lstat(path, &about) < 0)
        return fault_set(fault, errno, "packages/dir: %s: %s", path,
                         strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return fault_set(fault, ENOTDIR,
                         "packages/dir: %s is not a folder; remove it, or set "
                         "packages/dir to another one",
                         path);
    if (about.st_uid != owner)
        return fault_set(fault, EPERM,
                         "packages/dir: %s belongs to user %u, not to %u; "
                         "remove it, or set packages/dir to another folder",
                         path, about.st_uid, owner);
    if (about.st_mode & OTHERS_WRITE)
        return fault_set(fault, EPERM,
                         "packages/dir: other users can write to %s; remove "
                         "it, or run `chmod go-w` once its content is known",
                         path);
    return 0;
}

static int reach_one(const char *path, uid_t user, fault_t *fault)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return fault_set(fault, errno, "packages/dir: %s: %s", path,
                         strerror(errno));
    if (about.st_mode & (about.st_uid == user ? S_IXUSR : S_IXOTH))
        return 0;
    return fault_set(fault, EACCES,
                     "packages/dir: user %u, who makes packages, cannot enter "
                     "%s; run `chmod o+x %s`, or set packages/dir to another "
                     "folder",
                     user, path, path);
}

int packages_place_reach(const char *path, uid_t user, fault_t *fault)
{
    cleanup_free char *whole = realpath(path, NULL);
    int r;

    if (!whole)
        return fault_set(fault, errno, "packages/dir: %s: %s", path,
                         strerror(errno));
    r = reach_one("/", user, fault);
    for (char *end = whole; r == 0 && *end;) {
        end += 1 + strcspn(end + 1, "/");
        char kept = *end;
        *end = '\0';
        r = reach_one(whole, user, fault);
        *end = kept;
    }
    return r;
}

static bool is_program(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode)
           && access(path, X_OK) == 0;
}

static char *find_in_path(void)
{
    const char *list = getenv("PATH");

    while (list && *list) {
        size_t size = strcspn(list, ":");
        cleanup_free char *path = mem_format("%.*s/uv", (int) size, list);

        /* A relative one would depend on the current folder. */
        if (path[0] == '/' && is_program(path))
            return take_ptr(path);
        list += size + (list[size] == ':');
    }
    return NULL;
}

char *packages_place_uv(const options_t *options, const profile_t *profile)
{
    const char *slash = strrchr(profile->python, '/');
    cleanup_free char *beside =
        mem_format("%.*s/uv", slash ? (int) (slash - profile->python) : 0,
                   profile->python);

    if (options->packages_uv)
        return is_program(options->packages_uv) ? mem_text(options->packages_uv)
                                                : NULL;
    return is_program(beside) ? take_ptr(beside) : find_in_path();
}
