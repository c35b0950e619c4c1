/* See contents_path.h. */
#include "gateway/http/contents/contents_path.h"

#include "base/hex.h"
#include "base/uuid.h"

#include <string.h>

/* Returns the rest of the path after its first component; NULL if that has
 * another name. */
static const char *rest_after(const char *path, const char *name)
{
    size_t size = strlen(name);

    if (strncmp(path, name, size) != 0 || (path[size] && path[size] != '/'))
        return NULL;
    return path + size + strspn(path + size, "/");
}

static size_t read_id(const char *text, char ret_id[FRONTEND_ID_MAX])
{
    size_t size = strspn(text, HEX_DIGITS "-");

    if (size != UUID_SIZE)
        return 0;
    memcpy(ret_id, text, size);
    ret_id[size] = '\0';
    return size;
}

static contents_path_t recording(const char *rest)
{
    contents_path_t place = {.what = CONTENTS_PATH_RECORDINGS, .path = ""};
    size_t size;

    if (!*rest)
        return place;
    size = read_id(rest, place.id);
    if (size && strcmp(rest + size, CONTENTS_SUFFIX) == 0)
        place.what = CONTENTS_PATH_RECORDING;
    else
        place = (contents_path_t){.what = CONTENTS_PATH_NONE, .path = ""};
    return place;
}

static contents_path_t workspace(const char *rest)
{
    contents_path_t place = {.what = CONTENTS_PATH_WORKSPACES, .path = ""};
    size_t size;

    if (!*rest)
        return place;
    size = read_id(rest, place.id);
    if (!size || (rest[size] && rest[size] != '/'))
        return (contents_path_t){.what = CONTENTS_PATH_NONE, .path = ""};
    place.what = CONTENTS_PATH_FILE;
    place.path = rest + size + strspn(rest + size, "/");
    return place;
}

contents_path_t contents_path_of(const char *path)
{
    const char *rest;

    path += strspn(path, "/");
    if (!*path)
        return (contents_path_t){.what = CONTENTS_PATH_ROOT, .path = ""};
    rest = rest_after(path, CONTENTS_RECORDINGS);
    if (rest)
        return recording(rest);
    rest = rest_after(path, CONTENTS_WORKSPACES);
    if (rest)
        return workspace(rest);
    return (contents_path_t){.what = CONTENTS_PATH_NONE, .path = ""};
}

bool contents_path_is_hidden(const char *path)
{
    while (*path) {
        size_t size = strcspn(path, "/");
        if (size > 1 && path[0] == '.')
            return true;
        path += size + strspn(path + size, "/");
    }
    return false;
}
