/* See fetch_name.h. */
#include "gateway/registry/downloads/fetch_name.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/hex.h"
#include "workspace/name.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

/* Appends what a part of a URL's path means (RFC 3986, 2.1). */
static void decode(const char *text, size_t size, buffer_t *out)
{
    for (size_t i = 0; i < size; i++) {
        char byte = text[i];
        int coded =
            byte == '%' && i + 2 < size ? hex_number(text + i + 1, 2) : -1;

        if (coded >= 0) {
            byte = (char) coded;
            i += 2;
        }
        buffer_append(out, &byte, 1);
    }
}

/* Returns where the path ends without what no repository's name ends with. */
static size_t without_git(const char *path, size_t end)
{
    while (end && path[end - 1] == '/')
        end--;
    return end >= 4 && memcmp(path + end - 4, ".git", 4) == 0 ? end - 4 : end;
}

/* Appends the last part of the URL's path, as text. */
static int append_name(const char *url, bool is_repository, buffer_t *out,
                       fault_t *fault)
{
    const char *host = strstr(url, "://");
    const char *path = host ? host + 3 + strcspn(host + 3, "/?#") : "";
    size_t whole = strcspn(path, "?#");
    size_t end = is_repository ? without_git(path, whole) : whole, begin = end;
    cleanup_buffer buffer_t name = BUFFER_EMPTY;

    if (!host)
        return fault_set(fault, EINVAL,
                         "the URL must begin with https:// or http://");
    while (begin && path[begin - 1] != '/')
        begin--;
    decode(path + begin, end - begin, &name);
    if (name.size > NAME_MAX)
        return fault_set(fault, EINVAL,
                         "the URL's last part has %zu bytes, more than the %d "
                         "of a name: give one by `path` (--into)",
                         name.size, NAME_MAX);
    if (!name.size || memchr(name.data, '/', name.size)
        || memchr(name.data, '\0', name.size)
        || (name.size == 1 && name.data[0] == '.')
        || (name.size == 2 && memcmp(name.data, "..", 2) == 0))
        return fault_set(fault, EINVAL,
                         "the URL has no name for the %s: give one by `path` "
                         "(--into)",
                         is_repository ? "folder" : "file");
    name_escape(out, name.data, name.size);
    return 0;
}

/* Returns true for what git takes for its own here. The path is the caller's
 * own word, and the session can make such a folder by itself: so this finds a
 * mistake. The files of a repository are a stranger's: their names are looked
 * at in each way in which any system writes them (clone/names.py). */
static bool is_git_name(const char *name, size_t size)
{
    return size == 4 && strncasecmp(name, ".git", 4) == 0;
}

/* Looks at the last part of the path, or at all. */
static bool has_git_name(const char *path, bool all)
{
    size_t size;

    for (; *path; path += size + (path[size] == '/')) {
        size = strcspn(path, "/");
        if ((all || !path[size]) && is_git_name(path, size))
            return true;
    }
    return false;
}

int fetch_name_path(const char *url, const char *path, bool is_repository,
                    char **ret_path, fault_t *fault)
{
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;
    cleanup_free char *bytes = NULL;
    size_t size = strlen(path);
    int r;

    buffer_append(&whole, path, size);
    if ((!size || path[size - 1] == '/')
        && (r = append_name(url, is_repository, &whole, fault)) < 0)
        return r;
    r = name_path((const char *) whole.data, whole.size, &bytes, fault);
    if (r < 0)
        return r;
    if (!*bytes)
        return fault_set(fault, EINVAL,
                         "`path` names the workspace itself: name a %s in it",
                         is_repository ? "folder" : "file");
    if (has_git_name(bytes, is_repository))
        return fault_set(fault, EINVAL,
                         "git takes a folder or a file named .git for its own: "
                         "choose another `path` (--into)");
    *ret_path = name_text(bytes);
    return 0;
}
