/* See place.h. All is looked at before anything is made. In the thread for
 * files. */
#include "gateway/files/place.h"

#include "base/buffer.h"
#include "gateway/files/copy.h"
#include "gateway/files/hidden_folder.h"
#include "gateway/files/parents.h"
#include "gateway/files/quota.h"
#include "gateway/files/tree_copy.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Bounds of an announcement: far more than there is, and sums do not overflow.
 */
#define BYTES_MAX   (UINT64_C(1) << 60)
#define ENTRIES_MAX (UINT64_C(1) << 40)

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
        return fault_errno(fault, "stat");
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
    r = copy_new(self, request, &plan, fault);
    if (r < 0)
        parents_remove(root, to, folders);
    return r;
}

/* --- Trees --- */

/* Reads a number of the content's `usage`, which the worker has said. */
static int read_number(const json_t *content, const char *key, uint64_t max,
                       uint64_t *ret_number, fault_t *fault)
{
    const json_t *value =
        json_object_get(json_object_get(content, "usage"), key);
    json_int_t number = json_integer_value(value);

    if (!json_is_integer(value) || number < 0 || (uint64_t) number > max)
        return fault_set(fault, EPROTO,
                         "the tree announces no number of %s between 0 and "
                         "%" PRIu64,
                         key, max);
    *ret_number = (uint64_t) number;
    return 0;
}

static int read_announced(const json_t *content, usage_t *ret_announced,
                          fault_t *fault)
{
    int r =
        read_number(content, "bytes", BYTES_MAX, &ret_announced->bytes, fault);

    return r < 0 ? r
                 : read_number(content, "files", ENTRIES_MAX,
                               &ret_announced->files, fault);
}

/* Returns what a tree takes on disk: of each entry a part of a block more than
 * its content. */
static usage_t on_disk(usage_t announced, uint64_t folders)
{
    uint64_t entries = announced.files + 1 + folders;

    return (usage_t){.bytes = announced.bytes + entries * PARENTS_FOLDER_BYTES,
                     .files = entries};
}

/* Looks at everything that can be known before anything is made. */
static int admit_tree(files_thread_t *self, const file_request_t *request,
                      const tree_copy_plan_t *plan, fault_t *fault)
{
    int r;

    if ((r = copies_admit(self, fault)) < 0
        || (r = hidden_folder_check_target(plan->root, plan->path, fault)) < 0)
        return r;
    return quota_check(self, request->session,
                       on_disk(plan->announced, plan->new_parents), fault);
}

static int begin_tree(const tree_copy_plan_t *plan, int *file_p,
                      void **ret_work, fault_t *fault)
{
    int r = parents_make(plan->root, plan->path, fault);

    if (r < 0)
        return r;
    r = tree_copy_new(plan, file_p, ret_work, fault);
    if (r < 0)
        parents_remove(plan->root, plan->path, plan->new_parents);
    return r;
}

int place_tree(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    tree_copy_plan_t plan = {0};
    copies_start_t start = {
        .kind = &tree_copy_kind,
        .what = "clone",
        .details = json_object_get(request->content, "details"),
        .journaled = json_object_get(request->content, "journaled"),
    };
    int r;

    if ((r = read_announced(request->content, &plan.announced, fault)) < 0
        || (r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0)
        return r;
    plan.root = root;
    plan.path = start.path = path;
    plan.new_parents = parents_count_missing(root, path);
    if ((r = admit_tree(self, request, &plan, fault)) < 0
        || (r = begin_tree(&plan, file_p, &start.work, fault)) < 0)
        return r;
    start.usage = on_disk(plan.announced, plan.new_parents);
    copies_add(self, request, &start);
    return FILES_LATER;
}
