/* See place.h. All is looked at before anything is made. In the thread for
 * files. */
#include "gateway/files/place.h"

#include "base/buffer.h"
#include "gateway/files/copy.h"
#include "gateway/files/parents.h"
#include "gateway/files/quota.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <string.h>

static int refuse_folder(int root, const char *path, fault_t *fault)
{
    struct stat about;
    fault_t ignored;

    if (beneath_stat(root, path, &about, &ignored) < 0
        || !S_ISDIR(about.st_mode))
        return 0;
    return fault_set(fault, EISDIR,
                     "%s is a folder: end it with a slash (%s/) to have the "
                     "file in it",
                     path, path);
}

/* Looks whether there is room before anything is made. */
static int admit(files_thread_t *self, const file_request_t *request, int file,
                 uint64_t folders, fault_t *fault)
{
    struct stat about;

    if (fstat(file, &about) < 0)
        return fault_set(fault, errno, "stat: %s", strerror(errno));
    return quota_check(
        self, request->session,
        (usage_t){.bytes = copy_stored(&about) + folders * PARENTS_FOLDER_BYTES,
                  .files = 1 + folders},
        fault);
}

int place_file(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault)
{
    cleanup_free char *to = NULL;
    cleanup_fd int root = -1;
    uint64_t folders;
    int r;

    if ((r = files_path(request->content, "path", &to, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = refuse_folder(root, to, fault)) < 0)
        return r;
    folders = parents_count_missing(root, to);
    if ((r = admit(self, request, *file_p, folders, fault)) < 0
        || (r = parents_make(root, to, fault)) < 0)
        return r;
    const copy_plan_t plan = {
        .file_p = file_p,
        .to_root = root,
        .to = to,
        .details = json_object_get(request->content, "details"),
        .journaled = json_object_get(request->content, "journaled"),
        .replaces = true,
        .is_into_workspace = true,
        .folders = folders,
        .what = "fetch",
        .admit = copy_admit,
        .done = copy_done,
    };
    return copy_new(self, request, &plan, fault);
}
