/* See copy.h. A copy is a reader and a writer (workspace/), and a place between
 * them. In the thread for files. */
#include "gateway/files/copy.h"

#include "base/clock.h"
#include "gateway/files/parents.h"
#include "gateway/files/quota.h"
#include "workspace/beneath.h"
#include "workspace/reader.h"

#include <fcntl.h>

/* The work of one copy. */
typedef struct {
    reader_t *reader;   /* owned */
    writer_t *writer;   /* owned */
    uint64_t at;        /* how far it came */
    copy_done_fn *done; /* makes the answer */
    int root;           /* owned; where `path` is */
    char *path;         /* owned; of the new file */
    uint64_t folders;   /* above it that were made for it */
} file_copy_t;

static void destroy(void *work)
{
    file_copy_t *self = work;

    if (!self)
        return;
    reader_destroy(&self->reader);
    writer_destroy(&self->writer);
    if (self->root >= 0)
        close(self->root);
    free(self->path);
    free(self);
}

static void work_destroy(file_copy_t **self_p)
{
    destroy(take_ptr(*self_p));
}

#define cleanup_work CLEANUP(work_destroy)

static int copy_piece(file_copy_t *self, buffer_t *piece, fault_t *fault)
{
    piece_t got;
    int r = reader_read(self->reader, self->at,
                        buffer_reserve(piece, FILES_PIECE_MAX), FILES_PIECE_MAX,
                        &got, fault);

    if (r < 0
        || (got.hole && (r = writer_skip(self->writer, got.hole, fault)) < 0)
        || (got.size
            && (r = writer_write(self->writer, piece->data, got.size, fault))
                   < 0))
        return r;
    self->at += got.size + got.hole;
    return 0;
}

static int step(void *work, buffer_t *piece, fault_t *fault)
{
    file_copy_t *self = work;
    uint64_t end = (uint64_t) reader_status(self->reader)->st_size;
    uint64_t stop = self->at + COPIES_STEP;
    int64_t deadline = clock_monotonic_ms() + COPIES_MS;
    int r;

    do
        r = copy_piece(self, piece, fault);
    while (r == 0 && self->at < end && self->at < stop
           && clock_monotonic_ms() < deadline);
    if (r < 0 || self->at < end)
        return r;
    r = writer_commit(self->writer, fault);
    return r < 0 ? r : 1;
}

/* Leaves neither the file nor the folders that were made for it. */
static bool undo(void *work)
{
    file_copy_t *self = work;

    writer_destroy(&self->writer);
    parents_remove(self->root, self->path, self->folders);
    return true;
}

static json_t *answer(const void *work)
{
    const file_copy_t *self = work;

    return self->done(self->writer, self->at);
}

static json_t *describe(const void *work)
{
    const file_copy_t *self = work;

    return json_pack("{s:I}", "size", (json_int_t) self->at);
}

static usage_t replaced(const void *work)
{
    const file_copy_t *self = work;

    return writer_replaced(self->writer);
}

static const copies_kind_t kind = {.step = step,
                                   .undo = undo,
                                   .answer = answer,
                                   .describe = describe,
                                   .replaced = replaced,
                                   .destroy = destroy};

uint64_t copy_stored(const struct stat *status)
{
    uint64_t blocks = usage_on_disk(status);
    uint64_t size = (uint64_t) status->st_size;

    return blocks < size ? blocks : size;
}

static int open_both(files_thread_t *self, const file_request_t *request,
                     const copy_plan_t *plan, file_copy_t *work, fault_t *fault)
{
    int r = plan->file_p ? reader_new_file(plan->file_p, &work->reader, fault)
                         : reader_new(plan->from_root, plan->from, false,
                                      &work->reader, fault);

    if (r < 0
        || (r = plan->admit(self, request, reader_status(work->reader), fault))
               < 0)
        return r;
    r = beneath_open(plan->to_root, "", O_PATH | O_DIRECTORY, 0, &work->root,
                     fault);
    return r < 0 ? r
                 : writer_new(work->root, plan->to, plan->replaces,
                              &work->writer, fault);
}

int copy_new(files_thread_t *self, const file_request_t *request,
             const copy_plan_t *plan, fault_t *fault)
{
    cleanup_work file_copy_t *work = mem_new(sizeof *work);
    copies_start_t start = {.kind = &kind,
                            .what = plan->what,
                            .path = plan->to,
                            .details = plan->details,
                            .journaled = plan->journaled};
    int r;

    work->done = plan->done;
    work->root = -1;
    work->path = mem_text(plan->to);
    work->folders = plan->folders;
    if ((r = copies_admit(self, fault)) < 0
        || (r = open_both(self, request, plan, work, fault)) < 0)
        return r;
    if (plan->is_into_workspace)
        start.usage.bytes = copy_stored(reader_status(work->reader));
    start.usage.files = plan->is_into_workspace + plan->folders;
    start.work = take_ptr(work);
    copies_add(self, request, &start);
    return FILES_LATER;
}

int copy_admit(files_thread_t *self, const file_request_t *request,
               const struct stat *status, fault_t *fault)
{
    return quota_check(self, request->session,
                       (usage_t){.bytes = copy_stored(status), .files = 1},
                       fault);
}

json_t *copy_done(const writer_t *writer, uint64_t size)
{
    (void) writer;
    return json_pack("{s:I}", "size", (json_int_t) size);
}

int copy_on_copy(files_thread_t *self, const file_request_t *request,
                 json_t **ret_answer, fault_t *fault)
{
    cleanup_free char *from = NULL, *to = NULL;
    cleanup_fd int root = -1;
    int r;

    (void) ret_answer;
    if ((r = files_path(request->content, "from", &from, fault)) < 0
        || (r = files_path(request->content, "to", &to, fault)) < 0
        || (r = files_root(request, &root, fault)) < 0)
        return r;
    const copy_plan_t plan = {
        .from_root = root,
        .from = from,
        .to_root = root,
        .to = to,
        .replaces =
            !json_is_false(json_object_get(request->content, "replace")),
        .is_into_workspace = true,
        .what = "copy",
        .admit = copy_admit,
        .done = copy_done,
    };
    return copy_new(self, request, &plan, fault);
}
