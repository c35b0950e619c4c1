/* Checkpoints: one older state of a file each, for those who save by hand. They
 * are kept in the session's state folder, where nothing of the session reaches,
 * under the file's own path, and bounded by sessions/checkpoint_bytes. In the
 * thread for files. */
#include "gateway/files/checkpoint.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/files/copy.h"
#include "workspace/beneath.h"
#include "workspace/walk.h"
#include "workspace/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ENTRIES_MAX 2000 /* files and folders of a session's checkpoints */
#define DEPTH_MAX   64
#define REMOVE_MS   5000
#define ID          "checkpoint" /* as in Jupyter there is one a file */

/* Opens the folder that mirrors the workspace. -ENOENT if the session has no
 * checkpoints. */
static int open_keep(const files_thread_t *self, const file_request_t *request,
                     bool makes, int *ret_root, fault_t *fault)
{
    cleanup_free char *folder = mem_format("%s/sessions/%s/checkpoints",
                                           self->state_dir, request->session);

    if (!request->session[0])
        return fault_set(fault, EINVAL, "a checkpoint is one of a session's");
    if (makes && mkdir(folder, 0700) < 0 && errno != EEXIST)
        return fault_set(fault, errno, "%s: %s", folder, strerror(errno));
    return beneath_root(folder, ret_root, fault);
}

static json_t *describe(const struct stat *status)
{
    json_auto_t *entry = files_entry("", status);

    return json_pack("{s:s,s:O,s:O}", "id", ID, "modified",
                     json_object_get(entry, "modified"), "size",
                     json_object_get(entry, "size"));
}

/* --- Room --- */

static int measure(int root, usage_t *ret_usage, fault_t *fault)
{
    cleanup_measure measure_t *measure = NULL;
    cleanup_fd int folder = -1;
    int r;

    if ((r = beneath_folder(root, "", &folder, fault)) < 0
        || (r = measure_new(folder, &measure, fault)) < 0)
        return r;
    (void) measure_step(measure, 2 * ENTRIES_MAX);
    *ret_usage = measure_result(measure);
    return 0;
}

/* Removes checkpoints whose files the session itself has removed. */
static void remove_orphans(int keep, int workspace)
{
    cleanup_walk walk_t *walk = NULL;
    cleanup_fd int folder = -1;
    walk_entry_t entry;
    struct stat status;
    fault_t fault;

    if (beneath_folder(keep, "", &folder, &fault) < 0
        || walk_new(folder, DEPTH_MAX + 1, false, &walk, &fault) < 0)
        return;
    while (walk_next(walk, &entry))
        if (!S_ISDIR(entry.status.st_mode)
            && beneath_stat(workspace, entry.path, &status, &fault) < 0)
            (void) beneath_remove(keep, entry.path, false, 0, &fault);
}

static bool has_room(const files_thread_t *self, int keep, uint64_t more)
{
    usage_t usage = {0};
    fault_t fault;

    return measure(keep, &usage, &fault) == 0 && usage.files < ENTRIES_MAX
           && usage.bytes + more <= self->checkpoint_bytes;
}

static int admit(files_thread_t *self, const file_request_t *request,
                 const struct stat *status, fault_t *fault)
{
    cleanup_fd int keep = -1, workspace = -1;
    uint64_t more = (uint64_t) status->st_size;
    int r;

    if ((r = open_keep(self, request, true, &keep, fault)) < 0
        || (r = files_root(request, &workspace, fault)) < 0)
        return r;
    if (has_room(self, keep, more))
        return 0;
    remove_orphans(keep, workspace);
    if (has_room(self, keep, more))
        return 0;
    return fault_set(fault, EDQUOT,
                     "the checkpoints of this session's files may take %" PRIu64
                     " bytes (sessions/checkpoint_bytes) and %d entries: there "
                     "is no room for this one; remove others",
                     self->checkpoint_bytes, ENTRIES_MAX);
}

/* --- Where it belongs --- */

static unsigned depth(const char *path)
{
    unsigned number = 0;

    while ((path = strchr(path, '/'))) {
        path++;
        number++;
    }
    return number;
}

/* Removes an entry in the way, whose name had another type before: a file in
 * the place of a folder, or the reverse. */
static int clear_way(int keep, const char *path, fault_t *fault)
{
    struct stat status;
    fault_t none;

    for (const char *slash = path; (slash = strchr(slash, '/')); slash++) {
        cleanup_free char *above = mem_copy(path, (size_t) (slash - path));
        if (beneath_stat(keep, above, &status, &none) == 0
            && !S_ISDIR(status.st_mode))
            (void) beneath_remove(keep, above, false, 0, &none);
    }
    if (beneath_stat(keep, path, &status, &none) == 0
        && S_ISDIR(status.st_mode))
        (void) beneath_remove(keep, path, true, REMOVE_MS, &none);
    const char *last = strrchr(path, '/');
    cleanup_free char *folder =
        mem_copy(path, last ? (size_t) (last - path) : 0);
    return beneath_make_folder(keep, folder, true, fault);
}

void checkpoints_rename(const files_thread_t *self,
                        const file_request_t *request, const char *from,
                        const char *to)
{
    cleanup_fd int keep = -1;
    fault_t fault;

    if (open_keep(self, request, false, &keep, &fault) < 0)
        return;
    (void) beneath_remove(keep, to, true, REMOVE_MS, &fault);
    if (clear_way(keep, to, &fault) == 0)
        (void) beneath_rename(keep, from, to, true, &fault);
}

void checkpoints_remove(const files_thread_t *self,
                        const file_request_t *request, const char *path)
{
    cleanup_fd int keep = -1;
    fault_t fault;

    if (open_keep(self, request, false, &keep, &fault) == 0)
        (void) beneath_remove(keep, path, true, REMOVE_MS, &fault);
}

/* --- Requests --- */

static json_t *on_made(const writer_t *writer, uint64_t size)
{
    char now[CLOCK_ISO_SIZE];

    (void) writer;
    clock_iso(clock_wall_us(), now);
    return json_pack("{s:{s:s,s:s,s:I}}", "checkpoint", "id", ID, "modified",
                     now, "size", (json_int_t) size);
}

int checkpoint_on_make(files_thread_t *self, const file_request_t *request,
                       json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1, keep = -1;
    struct stat status;
    int r;

    (void) ret_answer;
    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = beneath_stat(root, path, &status, fault)) < 0)
        return r;
    if (!S_ISREG(status.st_mode) || depth(path) > DEPTH_MAX)
        return fault_set(fault, EINVAL,
                         "checkpoints are kept of files, at most %d folders "
                         "down",
                         DEPTH_MAX);
    if ((r = open_keep(self, request, true, &keep, fault)) < 0
        || (r = clear_way(keep, path, fault)) < 0)
        return r;
    const copy_plan_t plan = {
        .from_root = root,
        .from = path,
        .to_root = keep,
        .to = path,
        .replaces = true,
        .what = "checkpoint",
        .admit = admit,
        .done = on_made,
    };
    return copy_new(self, request, &plan, fault);
}

static json_t *on_restored(const writer_t *writer, uint64_t size)
{
    (void) writer;
    return json_pack("{s:I}", "size", (json_int_t) size);
}

int checkpoint_on_restore(files_thread_t *self, const file_request_t *request,
                          json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1, keep = -1;
    int r;

    (void) ret_answer;
    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = open_keep(self, request, false, &keep, fault)) < 0)
        return r;
    const copy_plan_t plan = {
        .from_root = keep,
        .from = path,
        .to_root = root,
        .to = path,
        .replaces = true,
        .is_into_workspace = true,
        .what = "restore",
        .admit = copy_admit,
        .done = on_restored,
    };
    return copy_new(self, request, &plan, fault);
}

/* Finds the status of the checkpoint itself; -ENOENT if the file has no
 * checkpoint. */
static int find(const files_thread_t *self, const file_request_t *request,
                char **ret_path, int *ret_keep, struct stat *ret_status,
                fault_t *fault)
{
    int r;

    if ((r = files_path(request->content, "path", ret_path, fault)) < 0
        || (r = open_keep(self, request, false, ret_keep, fault)) < 0
        || (r = beneath_stat(*ret_keep, *ret_path, ret_status, fault)) < 0)
        return r;
    return S_ISREG(ret_status->st_mode)
               ? 0
               : fault_set(fault, ENOENT, "there is no such checkpoint");
}

int checkpoint_on_list(files_thread_t *self, const file_request_t *request,
                       json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int keep = -1;
    json_t *found = json_array();
    struct stat status;

    if (find(self, request, &path, &keep, &status, fault) == 0) {
        json_array_append_new(found, describe(&status));
    } else if (!path) {
        json_decref(found);
        return -EINVAL; /* it is no path */
    }
    *ret_answer = json_pack("{s:o}", "checkpoints", found);
    return 0;
}

int checkpoint_on_forget(files_thread_t *self, const file_request_t *request,
                         json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int keep = -1;
    struct stat status;
    int r;

    if ((r = find(self, request, &path, &keep, &status, fault)) < 0
        || (r = beneath_remove(keep, path, false, 0, fault)) < 0)
        return r;
    files_note(self, &(file_event_t){.who = request->who,
                                     .session = request->session,
                                     .what = "forget",
                                     .path = path});
    *ret_answer = json_object();
    return 0;
}
