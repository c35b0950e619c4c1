/* See tree_copy.h. Each entry is looked up beneath the hidden folder's
 * descriptor (workspace/beneath.h) and made where nothing is. In the thread for
 * files. */
#include "gateway/files/tree_copy.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/files/hidden_folder.h"
#include "workspace/beneath.h"
#include "workspace/name.h"
#include "workspace/new_entry.h"
#include "workspace/tree_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define STEP_ENTRIES 64 /* then requests are served, too */

typedef struct {
    tree_reader_t *reader;   /* owned */
    hidden_folder_t *folder; /* owned */
    int file;                /* owned; that is being written, or -1 */
    bool is_dated;           /* that file gets a time of its own at its end */
    usage_t announced;
    usage_t made;
} tree_copy_t;

static void destroy(void *work)
{
    tree_copy_t *self = work;

    if (!self)
        return;
    if (self->file >= 0)
        close(self->file);
    hidden_folder_destroy(&self->folder);
    tree_reader_destroy(&self->reader);
    free(self);
}

static void work_destroy(tree_copy_t **self_p)
{
    destroy(take_ptr(*self_p));
}

#define cleanup_work CLEANUP(work_destroy)

int tree_copy_new(const tree_copy_plan_t *plan, int *file_p, void **ret_work,
                  fault_t *fault)
{
    cleanup_work tree_copy_t *self = mem_new(sizeof *self);
    int r;

    self->file = -1;
    self->announced = plan->announced;
    if ((r = tree_reader_new(file_p, &self->reader, fault)) < 0
        || (r = hidden_folder_new(plan->root, plan->path, plan->new_parents,
                                  &self->folder, fault))
               < 0)
        return r;
    *ret_work = take_ptr(self);
    return 0;
}

/* Says of which entry the fault is. What is in the way, or missing, is the
 * session's doing or the tree's: no entry is made over another one. */
static int explain(const char *path, int r, fault_t *fault)
{
    cleanup_free char *text = name_text(path);

    if (r != -ENOENT && r != -EEXIST && r != -ENOTDIR && r != -ELOOP
        && r != -EXDEV && r != -EAGAIN)
        return fault_wrap(fault, "%.100s", text);
    return fault_set(fault, ESTALE,
                     "%.100s was not made: the tree has it twice, or before "
                     "its folder, or the session changed the new folder",
                     text);
}

/* Counts an entry before it is made. */
static int count(tree_copy_t *self, const tree_entry_t *entry, fault_t *fault)
{
    if (self->made.files >= self->announced.files)
        return fault_set(fault, EPROTO,
                         "the tree has more than the %" PRIu64
                         " files and folders that were announced",
                         self->announced.files);
    if (entry->size > self->announced.bytes - self->made.bytes)
        return fault_set(fault, EPROTO,
                         "the tree's files have more than the %" PRIu64
                         " bytes that were announced",
                         self->announced.bytes);
    self->made.files++;
    self->made.bytes += entry->size;
    return 0;
}

static int make(tree_copy_t *self, const tree_entry_t *entry, fault_t *fault)
{
    cleanup_fd int parent = -1, made = -1;
    int root = hidden_folder_root(self->folder), r;
    const char *name;

    r = beneath_parent(hidden_folder_fd(self->folder), entry->path, &parent,
                       &name, fault);
    if (r < 0)
        return r;
    if (entry->type == TREE_FOLDER)
        return new_entry_folder(root, parent, name, &made, fault);
    if (entry->type == TREE_LINK)
        return new_entry_link(root, parent, name, entry->target, fault);
    return new_entry_file(root, parent, name,
                          entry->type == TREE_EXECUTABLE ? 0755 : 0644,
                          &self->file, fault);
}

/* Makes the next entry; returns 1 at the end of the tree. */
static int make_next(tree_copy_t *self, fault_t *fault)
{
    tree_entry_t entry;
    int r = tree_reader_next(self->reader, &entry, fault);

    if (r < 0)
        return r;
    if (entry.type == TREE_END) {
        r = hidden_folder_give_name(self->folder, fault);
        return r < 0 ? r : 1;
    }
    if ((r = count(self, &entry, fault)) < 0)
        return r;
    self->is_dated = entry.is_dated;
    r = make(self, &entry, fault);
    return r < 0 ? explain(entry.path, r, fault) : 0;
}

/* Ends the file that was made last. */
static int end_file(tree_copy_t *self, fault_t *fault)
{
    const struct timespec date = {.tv_sec = TREE_DATE};
    const struct timespec times[] = {date, date};
    cleanup_fd int file = take_fd(&self->file);

    if (self->is_dated && futimens(file, times) < 0)
        return fault_errno(fault, "the time of a file");
    return 0;
}

/* Writes a piece of the file that was made last. */
static int write_piece(tree_copy_t *self, size_t *bytes_left, fault_t *fault)
{
    bytes_t piece;
    int r = tree_reader_content(self->reader, *bytes_left, &piece, fault);

    if (r < 0)
        return r;
    *bytes_left -= piece.size;
    if (piece.size)
        return fd_write_all(self->file, piece.bytes, piece.size, fault);
    return end_file(self, fault);
}

static int step(void *work, buffer_t *piece, fault_t *fault)
{
    tree_copy_t *self = work;
    int64_t deadline = clock_monotonic_ms() + COPIES_MS;
    size_t bytes_left = COPIES_STEP;
    int entries = 0, r;

    (void) piece;
    do {
        if (self->file >= 0) {
            r = write_piece(self, &bytes_left, fault);
        } else {
            r = make_next(self, fault);
            entries++;
        }
    } while (r == 0 && entries < STEP_ENTRIES && bytes_left
             && clock_monotonic_ms() < deadline);
    return r;
}

static bool undo(void *work)
{
    tree_copy_t *self = work;

    return hidden_folder_undo(self->folder, self->made.files);
}

static json_t *describe(const void *work)
{
    const tree_copy_t *self = work;

    return json_pack("{s:I,s:I}", "size", (json_int_t) self->made.bytes,
                     "files", (json_int_t) self->made.files);
}

static usage_t replaced(const void *work)
{
    const tree_copy_t *self = work;

    return hidden_folder_replaced(self->folder);
}

const copies_kind_t tree_copy_kind = {.step = step,
                                      .undo = undo,
                                      .answer = describe,
                                      .describe = describe,
                                      .replaced = replaced,
                                      .destroy = destroy};
