/* See actor.h. The face for the registry, and the thread: its loop and the
 * table of requests. What crosses over is handed over whole. */
#include "gateway/files/actor.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/files/checkpoint.h"
#include "gateway/files/copy.h"
#include "gateway/files/directory.h"
#include "gateway/files/place.h"
#include "gateway/files/quota.h"
#include "gateway/files/transfer.h"
#include "gateway/frontends/handover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAITING_MAX 64    /* requests that have no answer yet */
#define SWEEP_MS    10000 /* forgotten transfers are looked for */

struct files {
    zactor_t *actor; /* owned */
    size_t waiting;  /* requests without an answer */
};

/* The arguments of the thread, which owns them. */
typedef struct {
    const char *state_dir; /* borrowed */
    uint64_t checkpoint_bytes;
} files_start_t;

typedef enum {
    FILES_ASK,     /* request, session, workspace, limits */
    FILES_PLACE,   /* file, who, content, number, is_tree; and as FILES_ASK */
    FILES_PROBE,   /* as FILES_PLACE, without a file */
    FILES_GIVE_UP, /* number */
    FILES_WATCH,   /* session, workspace, limits */
    FILES_UNWATCH, /* session */
} files_message_kind_t;

/* A message to the thread; it owns all in it. */
typedef struct {
    files_message_kind_t kind;
    message_t *request;
    int file; /* -1: none */
    char *who;
    json_t *content;
    uint64_t number;
    bool is_tree;
    char session[64];
    char *workspace;
    files_limits_t limits;
} files_message_t;

static void files_message_destroy(files_message_t **self_p)
{
    files_message_t *self = *self_p;

    if (!self)
        return;
    message_destroy(&self->request);
    if (self->file >= 0)
        close(self->file);
    free(self->who);
    json_decref(self->content);
    free(self->workspace);
    free(self);
    *self_p = NULL;
}

#define cleanup_files_message CLEANUP(files_message_destroy)

/* Records what was refused, and why; the path is as the request had it. */
static void note_refusal(files_thread_t *self, const files_message_t *message,
                         const file_request_t *request, const fault_t *fault)
{
    const char *path =
        json_string_value(json_object_get(request->content, "path"));

    audit_writer_note_by(
        self->audit, request->who, "file", message->session, "refused",
        json_pack("{s:s,s:s,s:s}", "what", message_type(message->request),
                  "path", path ? path : "", "text", fault->text));
}

static const struct {
    const char *type;
    files_handler_t *handler;
} requests[] = {
    {"files_list_request", directory_on_list},
    {"files_next_request", directory_on_next},
    {"files_stat_request", directory_on_stat},
    {"files_look_request", directory_on_look},
    {"files_get_request", transfer_on_get},
    {"files_read_request", transfer_on_read},
    {"files_put_request", transfer_on_put},
    {"files_write_request", transfer_on_write},
    {"files_commit_request", transfer_on_commit},
    {"files_close_request", transfer_on_close},
    {"files_make_folder_request", directory_on_make_folder},
    {"files_delete_request", directory_on_delete},
    {"files_rename_request", directory_on_rename},
    {"files_copy_request", copy_on_copy},
    {"files_checkpoint_request", checkpoint_on_make},
    {"files_checkpoints_request", checkpoint_on_list},
    {"files_restore_request", checkpoint_on_restore},
    {"files_forget_request", checkpoint_on_forget},
};

static files_handler_t *find_handler(const char *type)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].type, type) == 0)
            return requests[i].handler;
    return NULL;
}

/* Parses the content here, although the main thread has: what that parsed may
 * have more references there, and no object belongs to two threads. */
static void on_ask(files_thread_t *self, files_message_t *message)
{
    const message_t *sent = message->request;
    bytes_t text = message_content(sent);
    json_auto_t *content = json_loadb(text.bytes, text.size, 0, NULL);
    files_handler_t *handler = find_handler(message_type(sent));
    files_news_t *news = mem_new(sizeof *news);
    file_request_t request = {
        .session = message->session,
        .who = message_sender(sent),
        .workspace = message->workspace,
        .content = content,
        .out = &news->data,
    };
    fault_t fault = {0};
    int r;

    if (message_buffer_count(sent))
        request.data = message_buffer(sent, 0);
    news->word = FILES_ANSWER;
    quota_meet(self, message->session, message->workspace, message->limits);
    r = handler ? handler(self, &request, &news->answer, &fault)
                : fault_set(&fault, EINVAL,
                            "this gateway does not know this request");
    if (r < 0)
        note_refusal(self, message, &request, &fault);
    news->request = take_ptr(message->request);
    if (r == FILES_LATER)
        copies_expect(self, news);
    else
        files_answer(self, news, take_ptr(news->answer), r, &fault);
}

/* Begins what the message asks for, or answers it at once. */
static int place(files_thread_t *self, files_message_t *message,
                 const file_request_t *request, fault_t *fault)
{
    if (message->kind == FILES_PROBE)
        return place_probe(self, request, message->is_tree, fault);
    if (message->is_tree)
        return place_tree(self, request, &message->file, fault);
    return place_file(self, request, &message->file, fault);
}

/* Returns the answer of what is placed; that of a probe has the bytes that the
 * workspace may still hold, if it has a limit. */
static json_t *describe_room(const files_thread_t *self,
                             const files_message_t *message)
{
    json_t *answer = json_object();
    uint64_t room;

    if (message->kind == FILES_PROBE
        && quota_room(self, message->session, &room))
        json_object_set_new(answer, "room", json_integer((json_int_t) room));
    return answer;
}

static void on_place(files_thread_t *self, files_message_t *message)
{
    files_news_t *news = mem_new(sizeof *news);
    const file_request_t request = {.session = message->session,
                                    .who = message->who,
                                    .workspace = message->workspace,
                                    .content = message->content};
    fault_t fault = {0};
    int r;

    news->word = message->kind == FILES_PROBE ? FILES_PROBED : FILES_PLACED;
    news->number = message->number;
    quota_meet(self, message->session, message->workspace, message->limits);
    r = place(self, message, &request, &fault);
    if (r == FILES_LATER)
        copies_expect(self, news);
    else
        files_answer(self, news, describe_room(self, message), r, &fault);
}

static int on_message(zloop_t *loop, zsock_t *pipe, void *arg)
{
    files_thread_t *self = arg;
    cleanup_files_message files_message_t *message = handover_receive(pipe);

    (void) loop;
    if (!message)
        return -1; /* the registry ends the thread */
    switch (message->kind) {
    case FILES_ASK:
        on_ask(self, message);
        break;
    case FILES_PLACE:
    case FILES_PROBE:
        on_place(self, message);
        break;
    case FILES_GIVE_UP:
        copies_give_up(self, message->number);
        break;
    case FILES_WATCH:
        quota_add(self, message->session, message->workspace, message->limits);
        break;
    case FILES_UNWATCH:
        quota_leave(self, message->session);
        break;
    }
    return 0;
}

static int on_sweep(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    transfers_sweep(arg);
    quota_sweep(arg);
    return 0;
}

static usage_t on_its_way(const files_thread_t *self, const char *session)
{
    usage_t sum = transfers_usage(self, session);
    usage_t copied = copies_usage(self, session);

    sum.bytes += copied.bytes;
    sum.files += copied.files;
    return sum;
}

static void files_actor(zsock_t *pipe, void *args)
{
    cleanup_free files_start_t *start = args;
    files_thread_t self = {.pipe = pipe,
                           .loop = zloop_new(),
                           .audit = audit_writer_new("files"),
                           .transfers = transfers_new(),
                           .quotas = quotas_new(),
                           .copies = copies_new(),
                           .state_dir = start->state_dir,
                           .checkpoint_bytes = start->checkpoint_bytes,
                           .on_its_way = on_its_way};

    zloop_set_nonstop(self.loop, true);
    zsock_signal(pipe, 0);
    zloop_reader(self.loop, pipe, on_message, &self);
    zloop_timer(self.loop, SWEEP_MS, 0, on_sweep, &self);
    zloop_start(self.loop);
    transfers_destroy(&self);
    copies_destroy(&self.copies);
    quotas_destroy(&self.quotas);
    audit_writer_destroy(&self.audit);
    zloop_destroy(&self.loop);
    handover_finish(pipe);
}

files_t *files_new(const char *state_dir, uint64_t checkpoint_bytes)
{
    files_t *self = mem_new(sizeof *self);
    files_start_t *start = mem_new(sizeof *start);

    start->state_dir = state_dir;
    start->checkpoint_bytes = checkpoint_bytes;
    self->actor = zactor_new(files_actor, start);
    return self;
}

static void destroy_news(void **news_p)
{
    files_news_t *news = *news_p;

    files_news_destroy(&news);
    *news_p = NULL;
}

void files_destroy(files_t **self_p)
{
    files_t *self = *self_p;

    if (!self)
        return;
    handover_end_actor(&self->actor, destroy_news);
    free(self);
    *self_p = NULL;
}

zsock_t *files_socket(const files_t *self)
{
    return zactor_sock(self->actor);
}

static files_message_t *files_message_new(files_message_kind_t kind,
                                          const char *session,
                                          const char *workspace,
                                          files_limits_t limits)
{
    files_message_t *message = mem_new(sizeof *message);

    message->kind = kind;
    message->file = -1;
    snprintf(message->session, sizeof message->session, "%s", session);
    message->workspace = mem_text(workspace);
    message->limits = limits;
    return message;
}

bool files_ask(files_t *self, message_t **request_p, const char *session,
               const char *workspace, files_limits_t limits)
{
    files_message_t *message;

    if (self->waiting >= WAITING_MAX)
        return false;
    self->waiting++;
    message = files_message_new(FILES_ASK, session, workspace, limits);
    message->request = take_ptr(*request_p);
    handover_send(self->actor, message);
    return true;
}

static bool send_place(files_t *self, files_message_kind_t kind,
                       const files_place_t *place, int file)
{
    files_message_t *message;

    if (self->waiting >= WAITING_MAX)
        return false;
    self->waiting++;
    message = files_message_new(kind, place->session, place->workspace,
                                place->limits);
    message->file = file;
    message->who = mem_text(place->who);
    message->content = place->content;
    message->number = place->number;
    message->is_tree = place->is_tree;
    handover_send(self->actor, message);
    return true;
}

bool files_place(files_t *self, const files_place_t *place, int *file_p)
{
    bool is_sent = send_place(self, FILES_PLACE, place, *file_p);

    if (is_sent)
        *file_p = -1;
    return is_sent;
}

bool files_probe(files_t *self, const files_place_t *place)
{
    return send_place(self, FILES_PROBE, place, -1);
}

void files_give_up(files_t *self, uint64_t number)
{
    files_message_t *message =
        files_message_new(FILES_GIVE_UP, "", NULL, (files_limits_t){0});

    message->number = number;
    handover_send(self->actor, message);
}

void files_watch(files_t *self, const char *session, const char *workspace,
                 files_limits_t limits)
{
    if (limits.bytes || limits.files)
        handover_send(self->actor, files_message_new(FILES_WATCH, session,
                                                     workspace, limits));
}

void files_unwatch(files_t *self, const char *session)
{
    handover_send(self->actor, files_message_new(FILES_UNWATCH, session, NULL,
                                                 (files_limits_t){0}));
}

files_news_t *files_receive(files_t *self)
{
    files_news_t *news = handover_receive(self->actor);

    if (news
        && (news->word == FILES_ANSWER || news->word == FILES_PLACED
            || news->word == FILES_PROBED))
        self->waiting--;
    return news;
}
