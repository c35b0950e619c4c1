/* Requests about names in a workspace: what is there, folders made, things
 * removed and renamed; and listings, page by page. In the thread for files. */
#include "gateway/files/directory.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/files/checkpoint.h"
#include "gateway/files/quota.h"
#include "gateway/files/transfer.h"
#include "protocol/limits.h"
#include "workspace/beneath.h"
#include "workspace/name.h"
#include "workspace/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#define PAGE_ENTRIES 1000
#define PAGE_MS      200    /* after this time a page is sent as it is */
#define LIST_ENTRIES 200000 /* of a whole listing */
#define LIST_DEPTH   64
#define LIST_MS      60000
#define REMOVE_MS    5000 /* the thread must serve other requests, too */

static bool has(const file_request_t *request, const char *key)
{
    return json_is_true(json_object_get(request->content, key));
}

int directory_on_stat(files_thread_t *self, const file_request_t *request,
                      json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    struct stat status;
    int r;

    (void) self;
    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = beneath_stat(root, path, &status, fault)) < 0)
        return r;
    *ret_answer = json_pack("{s:o}", "entry", files_entry(path, &status));
    return 0;
}

/* Returns a text that is another one when the file has changed, has come or has
 * gone. Returns null if no file can have such a path. A link has a version of
 * its own: what it points at is not looked at. A negative `root` says why the
 * workspace is not there, as -errno. */
static json_t *version_of(int root, const json_t *text)
{
    cleanup_free char *path = NULL;
    struct stat status;
    fault_t fault;
    int r;

    if (name_path(json_string_value(text), json_string_length(text), &path,
                  &fault)
        < 0)
        return json_null();
    r = root < 0 ? root : beneath_stat(root, path, &status, &fault);
    if (r < 0)
        return json_sprintf("absent.%d", -r);
    return json_sprintf(
        "%jx.%jx.%jx.%lx.%jx.%lx", (uintmax_t) status.st_ino,
        (uintmax_t) status.st_size, (intmax_t) status.st_mtim.tv_sec,
        status.st_mtim.tv_nsec, (intmax_t) status.st_ctim.tv_sec,
        status.st_ctim.tv_nsec);
}

/* Looks at files. A workspace that is gone is no failure, which would be in the
 * audit log each time. */
int directory_on_look(files_thread_t *self, const file_request_t *request,
                      json_t **ret_answer, fault_t *fault)
{
    const json_t *paths = json_object_get(request->content, "paths"), *path;
    cleanup_fd int root = -1;
    json_t *versions;
    size_t i;
    int r;

    (void) self;
    if (json_array_size(paths) > FILES_LOOK_MAX)
        return fault_set(fault, EINVAL, "at most %d paths can be looked at",
                         FILES_LOOK_MAX);
    r = files_root(request, &root, fault);
    versions = json_object();
    json_array_foreach(paths, i, path)
    {
        if (json_is_string(path))
            json_object_set_new(versions, json_string_value(path),
                                version_of(r < 0 ? r : root, path));
    }
    *ret_answer = json_pack("{s:o}", "versions", versions);
    return 0;
}

/* Returns how many folders a path adds if its parents may be made. */
static uint64_t count_missing(int root, const char *path, bool with_parents)
{
    struct stat status;
    uint64_t count = beneath_stat(root, path, &status, &(fault_t){0}) < 0;

    for (const char *slash = path; with_parents && (slash = strchr(slash, '/'));
         slash++) {
        cleanup_free char *above = mem_copy(path, (size_t) (slash - path));

        count += beneath_stat(root, above, &status, &(fault_t){0}) < 0;
    }
    return count;
}

int directory_on_make_folder(files_thread_t *self,
                             const file_request_t *request, json_t **ret_answer,
                             fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    bool with_parents = has(request, "parents");
    usage_t more = {0};
    int r;

    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0)
        return r;
    more.files = count_missing(root, path, with_parents);
    if ((r = quota_check(self, request->session, more, fault)) < 0
        || (r = beneath_make_folder(root, path, with_parents, fault)) < 0)
        return r;
    quota_count(self, request->session, more, (usage_t){0});
    files_note(self, &(file_event_t){.who = request->who,
                                     .session = request->session,
                                     .what = "make_folder",
                                     .path = path});
    *ret_answer = json_object();
    return 0;
}

int directory_on_delete(files_thread_t *self, const file_request_t *request,
                        json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1;
    int r;

    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = beneath_remove(root, path, has(request, "recursive"), REMOVE_MS,
                               fault))
               < 0)
        return r;
    checkpoints_remove(self, request, path);
    files_note(self, &(file_event_t){.who = request->who,
                                     .session = request->session,
                                     .what = "delete",
                                     .path = path});
    *ret_answer = json_object();
    return 0;
}

int directory_on_rename(files_thread_t *self, const file_request_t *request,
                        json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *from = NULL, *to = NULL;
    cleanup_fd int root = -1;
    int r;

    if ((r = files_path(request->content, "from", &from, fault)) < 0
        || (r = files_path(request->content, "to", &to, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = beneath_rename(root, from, to, has(request, "replace"), fault))
               < 0)
        return r;
    checkpoints_rename(self, request, from, to);
    files_note(self,
               &(file_event_t){.who = request->who,
                               .session = request->session,
                               .what = "rename",
                               .path = from,
                               .details = json_pack(
                                   "{s:O}", "to",
                                   json_object_get(request->content, "to"))});
    *ret_answer = json_object();
    return 0;
}

/* Describes an entry by its path from the workspace on. */
static json_t *describe(const transfer_t *transfer, const walk_entry_t *entry)
{
    cleanup_free char *whole =
        *transfer->path ? mem_format("%s/%s", transfer->path, entry->path)
                        : mem_text(entry->path);
    json_t *model = files_entry(whole, &entry->status);

    if (entry->is_unreadable)
        json_object_set_new(model, "unreadable", json_true());
    return model;
}

/* Returns the reason why the rest is not listed, NULL if the list continues. */
static const char *find_cut(const transfer_t *transfer)
{
    if (transfer->listed >= LIST_ENTRIES)
        return "count";
    if (clock_monotonic_ms() >= transfer->deadline)
        return "time";
    return NULL;
}

/* Returns the next page; the transfer ends with the last one. */
static json_t *list_page(files_thread_t *self, transfer_t *transfer)
{
    json_t *entries = json_array();
    int64_t page_end = clock_monotonic_ms() + PAGE_MS;
    const char *cut = find_cut(transfer);
    bool is_done = cut != NULL;
    walk_entry_t entry;
    json_t *answer;

    for (int i = 0; !is_done && i < PAGE_ENTRIES
                    && (i == 0 || clock_monotonic_ms() < page_end);
         i++) {
        is_done = !walk_next(transfer->walk, &entry);
        if (!is_done) {
            json_array_append_new(entries, describe(transfer, &entry));
            transfer->listed++;
        }
    }
    if (is_done && !cut && walk_is_cut(transfer->walk)
        && transfer->is_recursive)
        cut = "depth";
    answer = json_pack("{s:s,s:I,s:o,s:b,s:s?}", "transfer", transfer->id,
                       "page", (json_int_t) transfer->page++, "entries",
                       entries, "done", is_done, "cut", cut);
    if (is_done)
        transfer_end(self, transfer);
    return answer;
}

int directory_on_list(files_thread_t *self, const file_request_t *request,
                      json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1, folder = -1;
    bool is_recursive = has(request, "recursive");
    transfer_t *transfer;
    walk_t *walk;
    int r;

    if ((r = files_path(request->content, "path", &path, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0
        || (r = beneath_folder(root, path, &folder, fault)) < 0
        || (r = walk_new(folder, is_recursive ? LIST_DEPTH : 1, false, &walk,
                         fault))
               < 0)
        return r;
    r = transfer_new(self, request, path, &transfer, fault);
    if (r < 0) {
        walk_destroy(&walk);
        return r;
    }
    transfer->walk = walk;
    transfer->is_recursive = is_recursive;
    transfer->deadline = clock_monotonic_ms() + LIST_MS;
    *ret_answer = list_page(self, transfer);
    return 0;
}

int directory_on_next(files_thread_t *self, const file_request_t *request,
                      json_t **ret_answer, fault_t *fault)
{
    json_t *page = json_object_get(request->content, "page");
    transfer_t *transfer;
    int r = transfer_find(self, request, &transfer, fault);

    if (r < 0)
        return r;
    if (!transfer->walk
        || (uint64_t) json_integer_value(page) != transfer->page)
        return fault_set(fault, EBADMSG,
                         "page %" PRIu64 " of the listing is the next one",
                         transfer->page);
    *ret_answer = list_page(self, transfer);
    return 0;
}
