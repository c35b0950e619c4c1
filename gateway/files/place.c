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

#define SMALLEST_FILE 1 /* bytes of a file whose size is not known yet */

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

/* Where something is to come. */
typedef struct {
    char *path;       /* owned; bytes */
    int root;         /* owned; the workspace */
    uint64_t folders; /* above the path that are missing */
} spot_t;

static void spot_clear(spot_t *self)
{
    free(self->path);
    if (self->root >= 0)
        close(self->root);
}

#define cleanup_spot CLEANUP(spot_clear)

/* Finds the spot that the request names. Refuses what is in the way there. */
static int find_spot(const file_request_t *request, bool is_tree, spot_t *spot,
                     fault_t *fault)
{
    int r;

    if ((r = files_path(request->content, "path", &spot->path, fault)) < 0
        || (r = files_root(request, &spot->root, fault)) < 0)
        return r;
    r = (is_tree ? hidden_folder_check_target
                 : refuse_folder)(spot->root, spot->path, fault);
    if (r == 0)
        spot->folders = parents_count_missing(spot->root, spot->path);
    return r;
}

/* Looks whether there is room for a file of that size and for its folders. */
static int admit_file(files_thread_t *self, const file_request_t *request,
                      uint64_t stored, uint64_t folders, fault_t *fault)
{
    return quota_check(
        self, request->session,
        (usage_t){.bytes = stored + folders * PARENTS_FOLDER_BYTES,
                  .files = 1 + folders},
        fault);
}

int place_file(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault)
{
    cleanup_spot spot_t spot = {.root = -1};
    struct stat about;
    int r = find_spot(request, false, &spot, fault);

    if (r < 0)
        return r;
    if (fstat(*file_p, &about) < 0)
        return fault_errno(fault, "stat");
    if ((r = admit_file(self, request, copy_stored(&about), spot.folders,
                        fault))
            < 0
        || (r = parents_make(spot.root, spot.path, fault)) < 0)
        return r;
    const copy_plan_t plan = {
        .file_p = file_p,
        .to_root = spot.root,
        .to = spot.path,
        .details = json_object_get(request->content, "details"),
        .journaled = json_object_get(request->content, "journaled"),
        .replaces = true,
        .is_into_workspace = true,
        .folders = spot.folders,
        .what = "fetch",
        .admit = copy_admit,
        .done = copy_done,
    };
    r = copy_new(self, request, &plan, fault);
    if (r < 0)
        parents_remove(spot.root, spot.path, spot.folders);
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

static int admit_tree(files_thread_t *self, const file_request_t *request,
                      usage_t announced, uint64_t folders, fault_t *fault)
{
    return quota_check(self, request->session, on_disk(announced, folders),
                       fault);
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
    cleanup_spot spot_t spot = {.root = -1};
    tree_copy_plan_t plan = {0};
    copies_start_t start = {
        .kind = &tree_copy_kind,
        .what = "clone",
        .details = json_object_get(request->content, "details"),
        .journaled = json_object_get(request->content, "journaled"),
    };
    int r;

    if ((r = read_announced(request->content, &plan.announced, fault)) < 0
        || (r = copies_admit(self, fault)) < 0
        || (r = find_spot(request, true, &spot, fault)) < 0
        || (r = admit_tree(self, request, plan.announced, spot.folders, fault))
               < 0)
        return r;
    plan.root = spot.root;
    plan.path = start.path = spot.path;
    plan.new_parents = spot.folders;
    if ((r = begin_tree(&plan, file_p, &start.work, fault)) < 0)
        return r;
    start.usage = on_disk(plan.announced, plan.new_parents);
    copies_add(self, request, &start);
    return FILES_LATER;
}

/* --- Before it has come --- */

int place_probe(files_thread_t *self, const file_request_t *request,
                bool is_tree, fault_t *fault)
{
    cleanup_spot spot_t spot = {.root = -1};
    int r = find_spot(request, is_tree, &spot, fault);

    if (r < 0)
        return r;
    r = is_tree ? admit_tree(self, request, (usage_t){0}, spot.folders, fault)
                : admit_file(self, request, SMALLEST_FILE, spot.folders, fault);
    return r < 0 ? r : parents_check(spot.root, spot.path, fault);
}
