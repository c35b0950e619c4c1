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

int parents_make(int root, const char *path, fault_t *fault)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *parent =
        slash ? mem_copy(path, (size_t) (slash - path)) : NULL;
    int r = parent ? beneath_make_folder(root, parent, true, fault) : 0;

    if (r == -EEXIST || r == -ENOTDIR) {
        cleanup_free char *text = name_text(parent);

        return fault_set(
            fault, ENOTDIR,
            "%.150s is not a folder, or has a file or a link above "
            "it: choose another path",
            text);
    }
    return r;
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
