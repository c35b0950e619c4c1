/* See contents_path.h. */
#include "gateway/http/contents/contents_path.h"

#include <string.h>

#define ID_SIZE 36 /* a UUID */

/* The rest behind a first component; NULL when it is another one. */
static const char *behind(const char *path, const char *name)
{
    size_t size = strlen(name);

    if (strncmp(path, name, size) != 0 || (path[size] && path[size] != '/'))
        return NULL;
    return path + size + strspn(path + size, "/");
}

static size_t read_id(const char *text, char ret_id[FRONT_ID_MAX])
{
    size_t size = strspn(text, "0123456789abcdef-");

    if (size != ID_SIZE)
        return 0;
    memcpy(ret_id, text, size);
    ret_id[size] = '\0';
    return size;
}

static place_t recording(const char *rest)
{
    place_t place = {.what = PLACE_RECORDINGS, .path = ""};
    size_t size;

    if (!*rest)
        return place;
    size = read_id(rest, place.id);
    if (size && strcmp(rest + size, PLACE_SUFFIX) == 0)
        place.what = PLACE_RECORDING;
    else
        place = (place_t){.what = PLACE_NONE, .path = ""};
    return place;
}

static place_t workspace(const char *rest)
{
    place_t place = {.what = PLACE_WORKSPACES, .path = ""};
    size_t size;

    if (!*rest)
        return place;
    size = read_id(rest, place.id);
    if (!size || (rest[size] && rest[size] != '/'))
        return (place_t){.what = PLACE_NONE, .path = ""};
    place.what = PLACE_FILE;
    place.path = rest + size + strspn(rest + size, "/");
    return place;
}

place_t place_of(const char *path)
{
    const char *rest;

    path += strspn(path, "/");
    if (!*path)
        return (place_t){.what = PLACE_ROOT, .path = ""};
    rest = behind(path, PLACE_RECORDINGS_NAME);
    if (rest)
        return recording(rest);
    rest = behind(path, PLACE_WORKSPACES_NAME);
    if (rest)
        return workspace(rest);
    return (place_t){.what = PLACE_NONE, .path = ""};
}

bool place_is_hidden(const char *path)
{
    while (*path) {
        size_t size = strcspn(path, "/");
        if (size > 1 && path[0] == '.')
            return true;
        path += size + strspn(path + size, "/");
    }
    return false;
}

const char *place_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}
