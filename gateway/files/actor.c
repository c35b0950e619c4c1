/* See actor.h. An actor: its thread has the transfers and the measures; what
 * crosses over is handed over whole. */
#include "gateway/files/internal.h"

#include "base/clock.h"
#include "gateway/audit/audit.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "workspace/beneath.h"
#include "workspace/name.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define WAITING_MAX 64    /* requests that have no answer yet */
#define SWEEP_MS    10000 /* forgotten transfers are looked for */

struct files {
    zactor_t *actor; /* owned */
    size_t waiting;  /* requests without an answer */
};

/* What the thread begins with. */
typedef struct {
    const char *state_dir;
    uint64_t checkpoint_bytes;
} start_t;

/* What goes to the thread; owned by whoever holds it. */
typedef struct {
    message_t *request; /* NULL: watch, or not any more */
    char session[64];
    char *workspace; /* NULL: not any more */
    files_limits_t limits;
} order_t;

void files_news_destroy(files_news_t **self_p)
{
    files_news_t *self = *self_p;

    if (!self)
        return;
    message_destroy(&self->request);
    json_decref(self->answer);
    buffer_reset(&self->data);
    free(self->note);
    free(self);
    *self_p = NULL;
}

static void order_destroy(order_t **self_p)
{
    order_t *self = *self_p;

    if (!self)
        return;
    message_destroy(&self->request);
    free(self->workspace);
    free(self);
    *self_p = NULL;
}

#define cleanup_order CLEANUP(order_destroy)

int files_path(const json_t *content, const char *key, char **ret_path,
               fault_t *fault)
{
    const json_t *value = json_object_get(content, key);
    const char *text = value ? json_string_value(value) : "";

    if (!text)
        return fault_set(fault, EINVAL, "%s must be a text", key);
    return name_path(text, strlen(text), ret_path, fault);
}

static const char *type_name(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "file";
    case S_IFDIR:
        return "folder";
    case S_IFLNK:
        return "link";
    case S_IFIFO:
        return "fifo";
    case S_IFSOCK:
        return "socket";
    default:
        return "device";
    }
}

json_t *files_entry(const char *path, const struct stat *status)
{
    cleanup_free char *text = name_text(path);
    char modified[CLOCK_ISO_SIZE];

    clock_iso((int64_t) status->st_mtim.tv_sec * 1000000
                  + status->st_mtim.tv_nsec / 1000,
              modified);
    return json_pack("{s:s,s:s,s:I,s:I,s:i,s:I,s:s}", "path", text, "type",
                     type_name(status->st_mode), "size",
                     (json_int_t) status->st_size, "stored",
                     (json_int_t) status->st_blocks * 512, "mode",
                     (int) (status->st_mode & 07777), "links",
                     (json_int_t) status->st_nlink, "modified", modified);
}

int files_root(const errand_t *errand, int *ret_root, fault_t *fault)
{
    return beneath_root(errand->workspace, ret_root, fault);
}

void files_tell(self_t *self, files_news_t *news)
{
    zsock_send(self->pipe, "p", news);
}

/* The journal has it too, while there is an actor that writes it. */
static void tell_session(self_t *self, const char *who, const char *session,
                         const char *outcome, const json_t *object)
{
    files_news_t *news = mem_new(sizeof *news);
    json_auto_t *note = json_pack("{s:s,s:s}", "who", who, "outcome", outcome);

    json_object_update(note, (json_t *) (uintptr_t) object);
    news->word = FILES_DONE;
    news->note = json_dumps(note, JSON_COMPACT | JSON_ENSURE_ASCII);
    snprintf(news->session, sizeof news->session, "%s", session);
    files_tell(self, news);
}

void files_note(self_t *self, const char *who, const char *session,
                const char *what, const char *path, const char *outcome,
                json_t *details)
{
    cleanup_free char *text = name_text(path);
    json_t *object = json_pack("{s:s,s:s}", "what", what, "path", text);

    if (details)
        json_object_update(object, details);
    json_decref(details);
    tell_session(self, who, session, outcome, object);
    scribe_note_by(self->scribe, who, "file", session, outcome, object);
}

/* What was refused, and by which words; the path is as the request had it. */
static void note_refusal(self_t *self, const order_t *order,
                         const errand_t *errand, const fault_t *fault)
{
    const char *path =
        json_string_value(json_object_get(errand->content, "path"));

    scribe_note_by(self->scribe, errand->who, "file", order->session, "refused",
                   json_pack("{s:s,s:s,s:s}", "what",
                             message_type(order->request), "path",
                             path ? path : "", "text", fault->text));
}

static const struct {
    const char *type;
    files_handler_t *handler;
} requests[] = {
    {"files_list_request", files_on_list},
    {"files_next_request", files_on_next},
    {"files_stat_request", files_on_stat},
    {"files_get_request", files_on_get},
    {"files_read_request", files_on_read},
    {"files_put_request", files_on_put},
    {"files_write_request", files_on_write},
    {"files_commit_request", files_on_commit},
    {"files_close_request", files_on_close},
    {"files_make_folder_request", files_on_make_folder},
    {"files_delete_request", files_on_delete},
    {"files_rename_request", files_on_rename},
    {"files_copy_request", files_on_copy},
    {"files_checkpoint_request", files_on_checkpoint},
    {"files_checkpoints_request", files_on_checkpoints},
    {"files_restore_request", files_on_restore},
    {"files_forget_request", files_on_forget},
};

static files_handler_t *find_handler(const char *type)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].type, type) == 0)
            return requests[i].handler;
    return NULL;
}

static json_t *describe_fault(int code, const fault_t *fault)
{
    static const struct {
        int code;
        const char *ename;
    } names[] = {
        {ENOENT, "FileNotFound"},      {ENOTDIR, "FileNotFound"},
        {EEXIST, "FileExists"},        {ESTALE, "FileChanged"},
        {ENOSPC, "WorkspaceFull"},     {EDQUOT, "WorkspaceFull"},
        {ELOOP, "PathRefused"},        {EXDEV, "PathRefused"},
        {EMLINK, "PathRefused"},       {EINVAL, "PathRefused"},
        {ENAMETOOLONG, "PathRefused"}, {EBADMSG, "TransferBroken"},
        {ENOTEMPTY, "FolderNotEmpty"}, {EISDIR, "IsFolder"},
        {EACCES, "FileDenied"},        {EPERM, "FileDenied"},
        {EBUSY, "FileBusy"},
    };
    const char *ename = "FileError";

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].code == code)
            ename = names[i].ename;
    return management_error(ename, GATEWAY_EXIT_FAILED, "%s", fault->text);
}

void files_answer(self_t *self, files_news_t *news, json_t *answer, int r,
                  const fault_t *fault)
{
    if (r < 0) {
        json_decref(answer);
        answer = describe_fault(-r, fault);
    } else {
        json_object_set_new(answer, "status", json_string("ok"));
    }
    news->answer = answer;
    files_tell(self, news);
}

static void on_ask(self_t *self, order_t *order)
{
    const message_t *request = order->request;
    bytes_t text = message_content(request);
    json_auto_t *content = json_loadb(text.bytes, text.size, 0, NULL);
    files_handler_t *handler = find_handler(message_type(request));
    files_news_t *news = mem_new(sizeof *news);
    errand_t errand = {
        .session = order->session,
        .who = message_sender(request),
        .workspace = order->workspace,
        .content = content,
        .out = &news->data,
    };
    fault_t fault = {0};
    int r;

    if (message_buffer_count(request))
        errand.data = message_buffer(request, 0);
    news->word = FILES_ANSWER;
    quota_meet(self, order->session, order->workspace, order->limits);
    r = handler
            ? handler(self, &errand, &news->answer, &fault)
            : fault_set(&fault, EINVAL, "this gateway knows no such request");
    if (r < 0)
        note_refusal(self, order, &errand, &fault);
    news->request = take_ptr(order->request);
    if (r == FILES_LATER)
        copies_expect(self, news);
    else
        files_answer(self, news, take_ptr(news->answer), r, &fault);
}

static int on_order(zloop_t *loop, zsock_t *pipe, void *arg)
{
    self_t *self = arg;
    cleanup_order order_t *order = NULL;
    cleanup_free char *word = NULL;

    (void) loop;
    if (zsock_recv(pipe, "sp", &word, &order) < 0 || !order)
        return -1; /* $TERM */
    if (order->request)
        on_ask(self, order);
    else if (order->workspace)
        quota_add(self, order->session, order->workspace, order->limits);
    else
        quota_leave(self, order->session);
    return 0;
}

static int on_sweep(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    transfer_sweep(arg, false);
    quota_sweep(arg);
    return 0;
}

static void files_actor(zsock_t *pipe, void *args)
{
    const start_t *start = args;
    self_t self = {.pipe = pipe,
                   .loop = zloop_new(),
                   .scribe = scribe_new("files"),
                   .state_dir = start->state_dir,
                   .checkpoint_bytes = start->checkpoint_bytes};

    zloop_set_nonstop(self.loop, true);
    zsock_signal(pipe, 0);
    zloop_reader(self.loop, pipe, on_order, &self);
    zloop_timer(self.loop, SWEEP_MS, 0, on_sweep, &self);
    zloop_start(self.loop);
    transfer_sweep(&self, true);
    copies_clear(&self);
    quota_clear(&self);
    scribe_destroy(&self.scribe);
    zloop_destroy(&self.loop);
}

files_t *files_new(const char *state_dir, uint64_t checkpoint_bytes)
{
    files_t *self = mem_new(sizeof *self);
    start_t start = {state_dir, checkpoint_bytes};

    /* The actor signals when it has read what it starts with. */
    self->actor = zactor_new(files_actor, &start);
    return self;
}

void files_destroy(files_t **self_p)
{
    files_t *self = *self_p;

    if (!self)
        return;
    zactor_destroy(&self->actor);
    free(self);
    *self_p = NULL;
}

zsock_t *files_socket(const files_t *self)
{
    return zactor_sock(self->actor);
}

static void send_order(files_t *self, order_t **order_p)
{
    zsock_send(self->actor, "sp", "ORDER", take_ptr(*order_p));
}

static order_t *order_new(const char *session, const char *workspace)
{
    order_t *order = mem_new(sizeof *order);

    snprintf(order->session, sizeof order->session, "%s", session);
    order->workspace = mem_text(workspace);
    return order;
}

bool files_ask(files_t *self, message_t **request_p, const char *session,
               const char *workspace, files_limits_t limits)
{
    order_t *order;

    if (self->waiting >= WAITING_MAX)
        return false;
    self->waiting++;
    order = order_new(session, workspace);
    order->request = take_ptr(*request_p);
    order->limits = limits;
    send_order(self, &order);
    return true;
}

void files_watch(files_t *self, const char *session, const char *workspace,
                 files_limits_t limits)
{
    order_t *order;

    if (!limits.bytes && !limits.files)
        return;
    order = order_new(session, workspace);
    order->limits = limits;
    send_order(self, &order);
}

void files_unwatch(files_t *self, const char *session)
{
    order_t *order = order_new(session, NULL);

    send_order(self, &order);
}

files_news_t *files_receive(files_t *self)
{
    files_news_t *news = NULL;

    if (zsock_recv(self->actor, "p", &news) < 0 || !news)
        return NULL;
    if (news->word == FILES_ANSWER)
        self->waiting--;
    return news;
}
