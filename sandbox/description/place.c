/* See place.h. */
#include "sandbox/description/place.h"
#include "sandbox/policy/inside.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

/* Places that the sandbox makes itself; `below`: with everything in them. */
static const struct {
    const char *path;
    bool below;
} own[] = {
    {"/dev", true},
    {"/etc", false},
    {"/proc", true},
    {"/sys", true},
    {"/var/tmp", true},
    {"/tmp", false},
    {SANDBOX_WORKSPACE, true},
    {"/run", false},
};

bool place_is_beneath(const char *path, const char *top)
{
    size_t length = strlen(top);

    return strncmp(path, top, length) == 0
           && (path[length] == '\0' || path[length] == '/');
}

bool place_overlaps(const char *path, const char *other)
{
    return place_is_beneath(path, other) || place_is_beneath(other, path);
}

bool place_is_own(const char *path)
{
    if (path[0] == '\0')
        return true;
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (own[i].below ? place_is_beneath(path, own[i].path)
                         : strcmp(path, own[i].path) == 0)
            return true;
    return false;
}

bool place_is_plain(const char *path)
{
    if (path[0] != '/' || strlen(path) >= PATH_MAX)
        return false;
    for (const char *part = path + 1;; part++) {
        size_t length = strcspn(part, "/");

        if (length == 0 || (length == 1 && part[0] == '.')
            || (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
        part += length;
        if (*part == '\0')
            return true;
    }
}

const char *place_find_own(const char *path)
{
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (place_overlaps(path, own[i].path))
            return own[i].path;
    return NULL;
}
