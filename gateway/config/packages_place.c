/* See packages_place.h. */
#include "gateway/config/packages_place.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool packages_place_is_wanted(const options_t *options)
{
    for (size_t i = 0; i < options->profile_count; i++)
        if (options->profiles[i]->packages.index)
            return true;
    return false;
}

static bool is_program(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISREG(about.st_mode)
           && access(path, X_OK) == 0;
}

bool packages_place_lacks_advisories(const profile_t *profile)
{
    const char *path = profile->packages.advisories;
    struct stat about;

    return path && !(stat(path, &about) == 0 && S_ISREG(about.st_mode));
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

    if (options->packages.uv)
        return is_program(options->packages.uv) ? mem_text(options->packages.uv)
                                                : NULL;
    return is_program(beside) ? take_ptr(beside) : find_in_path();
}
