/* Copies between folders that the gateway can reach: within a workspace, and to
 * and from its checkpoints. A copy is made a piece at a time, so that a copy of
 * many gigabytes holds up no other request. It is answered when it is whole. In
 * the thread for files. */
#include "gateway/files/copy.h"

#include "base/buffer.h"
#include "gateway/files/quota.h"
#include "workspace/beneath.h"
#include "workspace/reader.h"
#include "workspace/writer.h"

#include <errno.h>
#include <string.h>

#define COPIES_MAX 16
/* bytes that are copied before requests are served */
#define STEP         FILES_PIECE_MAX
#define STEP_MS      1
#define FOLDER_BYTES 4096 /* what a new one takes on most file systems */

typedef struct copy copy_t;

struct copy {
    copy_t *next;       /* owned */
    files_news_t *news; /* owned; answered at the end */
    reader_t *reader;   /* owned */
    writer_t *writer;   /* owned */
    uint64_t at;        /* how far it came */
    usage_t usage;      /* of the workspace, when it is whole */
    char session[64];
    char *who;         /* owned; asked for it */
    char *path;        /* owned; for the audit log, of what was made */
    const char *what;  /* "copy" */
    json_t *details;   /* owned; or NULL */
    json_t *journaled; /* owned; or NULL */
    copy_done_fn *done;
};

static void copy_destroy(copy_t **self_p)
{
    copy_t *self = *self_p;

    if (!self)
        return;
    files_news_destroy(&self->news);
    reader_destroy(&self->reader);
    writer_destroy(&self->writer);
    free(self->who);
    free(self->path);
    json_decref(self->details);
    json_decref(self->journaled);
    free(self);
    *self_p = NULL;
}

#define cleanup_copy CLEANUP(copy_destroy)

struct copies {
    copy_t *first; /* owned; the newest */
    int timer;     /* of the loop; 0: none */
};

copies_t *copies_new(void)
{
    return mem_new(sizeof(copies_t));
}

void copies_destroy(copies_t **self_p)
{
    copies_t *self = *self_p;

    if (!self)
        return;
    while (self->first) {
        cleanup_copy copy_t *copy = self->first;
        self->first = copy->next;
    }
    free(self);
    *self_p = NULL;
}

static unsigned count(const files_thread_t *self)
{
    unsigned number = 0;

    for (const copy_t *at = self->copies->first; at; at = at->next)
        number++;
    return number;
}

usage_t copies_usage(const files_thread_t *self, const char *session)
{
    usage_t sum = {0};

    for (const copy_t *at = self->copies->first; at; at = at->next)
        if (strcmp(at->session, session) == 0) {
            sum.bytes += at->usage.bytes;
            sum.files += at->usage.files;
        }
    return sum;
}

static int step(copy_t *self, buffer_t *piece, bool *ret_is_done,
                fault_t *fault)
{
    uint64_t end = (uint64_t) reader_status(self->reader)->st_size;
    piece_t got;
    int r = reader_read(self->reader, self->at, buffer_reserve(piece, STEP),
                        STEP, &got, fault);

    if (r < 0
        || (got.hole && (r = writer_skip(self->writer, got.hole, fault)) < 0)
        || (got.size
            && (r = writer_write(self->writer, piece->data, got.size, fault))
                   < 0))
        return r;
    self->at += got.size + got.hole;
    *ret_is_done = self->at >= end;
    return *ret_is_done ? writer_commit(self->writer, fault) : 0;
}

static void finish(files_thread_t *self, copy_t **at, int r,
                   const fault_t *fault)
{
    cleanup_copy copy_t *copy = *at;
    json_t *answer = r < 0 ? NULL : copy->done(copy->writer, copy->at);
    json_t *details = json_pack("{s:I}", "size", (json_int_t) copy->at);

    *at = copy->next;
    if (copy->details)
        json_object_update(details, copy->details);
    if (r == 0)
        quota_count(self, copy->session, copy->usage,
                    writer_replaced(copy->writer));
    files_note(self, &(file_event_t){.who = copy->who,
                                     .session = copy->session,
                                     .what = copy->what,
                                     .path = copy->path,
                                     .outcome = r < 0 ? "refused" : "ok",
                                     .details = details,
                                     .journaled = copy->journaled});
    files_answer(self, take_ptr(copy->news), answer, r, fault);
}

static void go_on(files_thread_t *self);

static int on_step(zloop_t *loop, int timer, void *arg)
{
    files_thread_t *self = arg;
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;

    (void) loop;
    (void) timer;
    self->copies->timer = 0;
    for (copy_t **at = &self->copies->first; *at;) {
        bool is_done = false;
        fault_t fault;
        int r = step(*at, &piece, &is_done, &fault);

        if (r < 0 || is_done)
            finish(self, at, r, &fault);
        else
            at = &(*at)->next;
    }
    go_on(self);
    return 0;
}

static void go_on(files_thread_t *self)
{
    if (self->copies->first && !self->copies->timer)
        self->copies->timer =
            zloop_timer(self->loop, STEP_MS, 1, on_step, self);
}

static uint64_t stored(const struct stat *status)
{
    uint64_t blocks = usage_on_disk(status);
    uint64_t size = (uint64_t) status->st_size;

    return blocks < size ? blocks : size;
}

int copy_new(files_thread_t *self, const file_request_t *request,
             const copy_plan_t *plan, fault_t *fault)
{
    cleanup_copy copy_t *copy = mem_new(sizeof *copy);
    int r;

    if (count(self) >= COPIES_MAX)
        return fault_set(fault, EBUSY,
                         "%d files are being copied, the most that is "
                         "permitted; try again later",
                         COPIES_MAX);
    snprintf(copy->session, sizeof copy->session, "%s", request->session);
    copy->who = mem_text(request->who);
    copy->path = mem_text(plan->to);
    copy->what = plan->what;
    copy->done = plan->done;
    copy->details = json_incref((json_t *) (uintptr_t) plan->details);
    copy->journaled = json_incref((json_t *) (uintptr_t) plan->journaled);
    r = plan->file_p ? reader_new_file(plan->file_p, &copy->reader, fault)
                     : reader_new(plan->from_root, plan->from, false,
                                  &copy->reader, fault);
    if (r < 0
        || (r = plan->admit(self, request, reader_status(copy->reader), fault))
               < 0
        || (r = writer_new(plan->to_root, plan->to, plan->replaces,
                           &copy->writer, fault))
               < 0)
        return r;
    if (plan->is_into_workspace)
        copy->usage.bytes = stored(reader_status(copy->reader));
    copy->usage.files = plan->is_into_workspace + plan->folders;
    copy->next = self->copies->first;
    self->copies->first = take_ptr(copy);
    return FILES_LATER;
}

void copies_give_up(files_thread_t *self, uint64_t number)
{
    copy_t **at = &self->copies->first;
    fault_t fault;

    while (
        *at
        && ((*at)->news->word != FILES_PLACED || (*at)->news->number != number))
        at = &(*at)->next;
    if (*at)
        finish(self, at, fault_set(&fault, ECANCELED, "the copy was given up"),
               &fault);
}

void copies_expect(files_thread_t *self, files_news_t *news)
{
    self->copies->first->news = news;
    go_on(self);
}

/* --- Within a workspace --- */

int copy_admit(files_thread_t *self, const file_request_t *request,
               const struct stat *status, fault_t *fault)
{
    return quota_check(self, request->session,
                       (usage_t){.bytes = stored(status), .files = 1}, fault);
}

static json_t *on_copied(const writer_t *writer, uint64_t size)
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
        .done = on_copied,
    };
    return copy_new(self, request, &plan, fault);
}

/* --- From outside --- */

/* Counts the folders above the path that are not there. */
static uint64_t count_missing(int root, const char *path)
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

/* Makes the folders above the path. */
static int make_parents(int root, const char *path, fault_t *fault)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *parent =
        slash ? mem_copy(path, (size_t) (slash - path)) : NULL;
    int r = parent ? beneath_make_folder(root, parent, true, fault) : 0;

    if (r == -EEXIST || r == -ENOTDIR)
        return fault_set(fault, ENOTDIR,
                         "%s is not a folder, or has a file or a link above "
                         "it: choose another path",
                         parent);
    return r;
}

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
        (usage_t){.bytes = stored(&about) + folders * FOLDER_BYTES,
                  .files = 1 + folders},
        fault);
}

int copy_place(files_thread_t *self, const file_request_t *request, int *file_p,
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
    folders = count_missing(root, to);
    if ((r = admit(self, request, *file_p, folders, fault)) < 0
        || (r = make_parents(root, to, fault)) < 0)
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
        .done = on_copied,
    };
    return copy_new(self, request, &plan, fault);
}
