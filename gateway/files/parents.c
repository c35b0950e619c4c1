/* See parents.h. Owns nothing between calls. In the thread for files. */
#include "gateway/files/parents.h"

#include "base/buffer.h"
#include "workspace/beneath.h"
#include "workspace/name.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

uint64_t parents_count_missing(int root, const char *path)
{
    cleanup_free char *above = mem_text(path);
    uint64_t missing = 0;
    char *slash;

    while ((slash = strrchr(above, '/'))) {
        struct stat about;
        fault_t fault;

        *slash = '\0';
        if (beneath_stat(root, above, &about, &fault) != -ENOENT)
            break;
        missing++;
    }
    return missing;
}

/* Returns the path of the folder above, which the caller owns; NULL if that is
 * the workspace. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? mem_copy(path, (size_t) (slash - path)) : NULL;
}

static int refuse(const char *path, fault_t *fault)
{
    cleanup_free char *parent = parent_of(path);
    cleanup_free char *text = name_text(parent);

    return fault_set(fault, ENOTDIR,
                     "%.150s is not a folder, or has a file or a link above "
                     "it: choose another path",
                     text);
}

int parents_check(int root, const char *path, fault_t *fault)
{
    cleanup_fd int parent = -1;
    const char *name;

    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        cleanup_free char *above = mem_copy(path, (size_t) (slash - path));
        struct stat about;
        int r = beneath_stat(root, above, &about, fault);

        if (r == -ENOENT)
            return 0; /* it is made, and so are those below it */
        if (r < 0)
            return r;
        if (!S_ISDIR(about.st_mode))
            return refuse(path, fault);
    }
    return beneath_parent(root, path, &parent, &name, fault);
}

int parents_make(int root, const char *path, fault_t *fault)
{
    cleanup_free char *parent = parent_of(path);
    int r = parents_check(root, path, fault);

    if (r < 0 || !parent)
        return r;
    r = beneath_make_folder(root, parent, true, fault);
    return r == -EEXIST || r == -ENOTDIR ? refuse(path, fault) : r;
}

void parents_remove(int root, const char *path, uint64_t count)
{
    cleanup_free char *above = mem_text(path);
    char *slash;

    while (count-- && (slash = strrchr(above, '/'))) {
        cleanup_fd int parent = -1;
        const char *name;
        fault_t fault;

        *slash = '\0';
        if (beneath_parent(root, above, &parent, &name, &fault) < 0
            || unlinkat(parent, name, AT_REMOVEDIR) < 0)
            return;
    }
}
