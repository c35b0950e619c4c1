/* See thread.h. */
#include "gateway/endpoints/thread.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/audit/audit.h"
#include "gateway/endpoints/catchup.h"
#include "gateway/endpoints/control.h"
#include "gateway/endpoints/relay.h"
#include "gateway/frontends/handover.h"
#include "notebooks/journal/log_key.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define ENDPOINTS_FOLDER "viewers" /* in the runtime folder */
#define TICK_MS          1000
#define SOON_MS          20
#define EVENTS_A_TURN    64
#define RETURN_MS        5000  /* clients from before a restart reconnect in */
#define ABSENT_MS        60000 /* the same where none has reconnected at all */

/* The thread. */
typedef struct {
    zsock_t *pipe; /* borrowed */
    uint8_t journal_key[LOG_KEY_SIZE];
    char *folder;            /* owned; of the endpoints' files */
    frontend_t *frontend;    /* owned */
    zloop_t *loop;           /* owned */
    audit_writer_t *audit;   /* owned */
    memory_share_t memory;   /* what viewers have not taken */
    endpoint_home_t home;    /* all of the above, for the endpoints */
    endpoint_table_t *table; /* owned */
    size_t reported;         /* how many endpoints the registry knows of */
    int soon_timer;          /* of the loop; 0: nothing is to be done soon */
} endpoint_actor_t;

/* --- What sessions report --- */

static void read_session(endpoint_target_t *target,
                         const frontend_event_t *event)
{
    json_auto_t *json =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    const char *state = json_string_value(json_object_get(json, "state"));
    const char *journal = json_string_value(json_object_get(json, "journal"));

    target->is_gone = state && strcmp(state, "gone") == 0;
    if (journal) {
        free(target->journal);
        target->journal = mem_text(journal);
    }
}

static void look_soon(void *arg);

static void on_hello(endpoint_actor_t *self, endpoint_target_t *target,
                     const frontend_event_t *event)
{
    bool is_first = !target->is_greeted;

    read_session(target, event);
    target->is_greeted = true;
    target->seq = event->seq;
    for (endpoint_t *at = endpoint_table_first(self->table); at && !is_first;
         at = at->next)
        if (at->target == target)
            journal_follower_fall_behind(at->follower);
    look_soon(self);
}

static void close_all_of(endpoint_actor_t *self, const char *session)
{
    endpoint_t *next;

    for (endpoint_t *at = endpoint_table_first(self->table); at; at = next) {
        next = at->next;
        if (strcmp(at->target->id, session) == 0)
            endpoint_table_close(self->table, at, AUDIT_GATEWAY,
                                 "the session does not exist any more");
    }
}

/* Closes the endpoints of a session that is over. A gateway that stops has kept
 * the session, and its endpoints. If there was no descriptor to attach with,
 * the next tick tries again. */
static void on_bye(endpoint_actor_t *self, endpoint_target_t *target,
                   const frontend_event_t *event)
{
    json_auto_t *json =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    const char *reason = json_string_value(json_object_get(json, "reason"));

    if (reason && strcmp(reason, "unattached") == 0)
        target->is_lost = true;
    else if (!reason || strcmp(reason, "drained") != 0)
        close_all_of(self, event->session);
}

static void on_message(endpoint_actor_t *self, endpoint_target_t *target,
                       const frontend_event_t *event)
{
    cleanup_zmq_parcel zmq_parcel_t *parcel = NULL;

    for (endpoint_t *at = endpoint_table_first(self->table); at; at = at->next)
        if (at->target == target)
            relay_on_event(at, event, &parcel);
    if (event->seq > target->seq)
        target->seq = event->seq;
}

static bool take_event(endpoint_actor_t *self)
{
    frontend_event_t event;
    endpoint_target_t *target;

    if (!frontend_next(self->frontend, &event))
        return false;
    target = endpoint_table_target(self->table, event.session);
    if (!target)
        return true;
    if (event.what == FRONTEND_EVENT)
        on_message(self, target, &event);
    else if (event.what == FRONTEND_HELLO)
        on_hello(self, target, &event);
    else if (event.what == FRONTEND_STATE)
        read_session(target, &event);
    else if (event.what == FRONTEND_BYE)
        on_bye(self, target, &event);
    return true;
}

static void count_memory(endpoint_actor_t *self)
{
    uint64_t bytes = 0;

    for (const endpoint_t *at = endpoint_table_first(self->table); at;
         at = at->next) {
        channels_untaken_t untaken = channels_untaken(at->channels);

        bytes += untaken.outputs + untaken.replies;
    }
    memory_share_set(&self->memory, bytes);
}

/* --- What the registry learns --- */

static void send_answer(endpoint_actor_t *self, uint64_t token, char *text)
{
    control_answer_t *answer = mem_new(sizeof *answer);

    answer->token = token;
    answer->text = text;
    answer->count = endpoint_table_count(self->table);
    self->reported = answer->count;
    handover_send(self->pipe, answer);
}

static void report_count(endpoint_actor_t *self)
{
    if (self->reported != endpoint_table_count(self->table))
        send_answer(self, 0, NULL);
}

static int on_frontend(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    endpoint_actor_t *self = arg;

    (void) loop;
    (void) item;
    for (int i = 0; i < EVENTS_A_TURN && take_event(self); i++)
        continue;
    count_memory(self);
    report_count(self);
    return 0;
}

static int on_pipe(zloop_t *loop, zsock_t *pipe, void *arg)
{
    endpoint_actor_t *self = arg;
    cleanup_control_request control_request_t *request = handover_receive(pipe);
    json_auto_t *model = NULL;

    (void) loop;
    if (!request)
        return -1;
    model = control_serve(self->table, self->audit, request);
    if (model)
        send_answer(self, request->token, json_dumps(model, JSON_COMPACT));
    return 0;
}

static void note_bad(void *arg, const endpoint_t *endpoint, channel_t channel,
                     const char *verdict, uint64_t count)
{
    endpoint_actor_t *self = arg;

    audit_writer_note_by(
        self->audit, AUDIT_UNKNOWN, "message", endpoint->target->id, "dropped",
        json_pack("{s:s,s:s,s:s,s:I}", "viewer", endpoint->name, "channel",
                  channel_name(channel), "verdict", verdict, "count",
                  (json_int_t) count));
}

/* --- Time --- */

/* Clients that were there before a restart must miss nothing, so they are
 * waited for. If no other client has to wait meanwhile, the wait is longer. */
static bool is_awaited(const endpoint_t *endpoint, int64_t now_ms,
                       int64_t patience_ms)
{
    return channels_subscribers(endpoint->channels) < endpoint->awaited
           && now_ms < endpoint->restored + patience_ms;
}

static bool is_missed(const endpoint_t *endpoint, int64_t now_ms)
{
    return !channels_subscribers(endpoint->channels)
           && is_awaited(endpoint, now_ms, ABSENT_MS);
}

static void look(endpoint_t *endpoint, int64_t now_ms)
{
    if (!endpoint->is_open && !is_awaited(endpoint, now_ms, RETURN_MS))
        relay_begin(endpoint);
    if (endpoint->is_open && journal_follower_is_behind(endpoint->follower)
        && !is_missed(endpoint, now_ms))
        catchup_step(endpoint);
    if (!endpoint->is_open || journal_follower_is_behind(endpoint->follower))
        look_soon(endpoint->home->arg);
}

static int on_soon(zloop_t *loop, int timer, void *arg)
{
    endpoint_actor_t *self = arg;
    int64_t now_ms = clock_monotonic_ms();

    (void) loop;
    (void) timer;
    self->soon_timer = 0;
    for (endpoint_t *at = endpoint_table_first(self->table); at; at = at->next)
        if (at->target->is_greeted)
            look(at, now_ms); /* else on_hello looks */
    return 0;
}

static void look_soon(void *arg)
{
    endpoint_actor_t *self = arg;

    if (!self->soon_timer)
        self->soon_timer = zloop_timer(self->loop, SOON_MS, 1, on_soon, self);
}

static const endpoint_ops_t ops = {.soon = look_soon, .note_bad = note_bad};

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    endpoint_actor_t *self = arg;
    int64_t now_ms = clock_monotonic_ms();
    endpoint_t *next;

    (void) loop;
    (void) timer;
    endpoint_table_attach_lost(self->table);
    count_memory(self);
    for (endpoint_t *at = endpoint_table_first(self->table); at; at = next) {
        next = at->next;
        if (endpoint_has_file(at))
            relay_on_tick(at, now_ms);
        else
            endpoint_table_close(self->table, at, AUDIT_GATEWAY,
                                 "its connection file was revoked");
    }
    report_count(self);
    return 0;
}

/* --- Birth and death --- */

static void restore_all(endpoint_actor_t *self)
{
    DIR *folder = opendir(self->folder);
    const struct dirent *item;

    while (folder && (item = readdir(folder))) {
        size_t size = strlen(item->d_name);
        char name[ENDPOINT_NAME_SIZE];

        if (size != ENDPOINT_NAME_SIZE - 1 + strlen(".door")
            || strcmp(item->d_name + ENDPOINT_NAME_SIZE - 1, ".door") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", ENDPOINT_NAME_SIZE - 1,
                 item->d_name);
        endpoint_table_restore(self->table, name);
    }
    if (folder)
        closedir(folder);
    report_count(self);
}

static void destroy(endpoint_actor_t *self)
{
    endpoint_table_destroy(&self->table);
    frontend_destroy(&self->frontend);
    zloop_destroy(&self->loop);
    audit_writer_destroy(&self->audit);
    memory_share_set(&self->memory, 0);
    free(self->folder);
}

static int prepare(endpoint_actor_t *self, endpoints_making_t *making)
{
    const options_t *options = making->options;
    fault_t *fault = &making->fault;
    int r;

    self->memory.budget = making->memory;
    memcpy(self->journal_key, making->journal_key, sizeof self->journal_key);
    self->folder = mem_format("%s/" ENDPOINTS_FOLDER, options->runtime_dir);
    self->audit = audit_writer_new("viewers");
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    if ((r = path_make_folders(self->folder, 0700, fault)) < 0
        || (r = frontend_new(ENDPOINT_FRONTEND, options->runtime_dir,
                             &self->frontend, fault))
               < 0)
        return r;
    self->home = (endpoint_home_t){.options = options,
                                   .folder = self->folder,
                                   .journal_key = self->journal_key,
                                   .loop = self->loop,
                                   .frontend = self->frontend,
                                   .memory = &self->memory,
                                   .ops = &ops,
                                   .arg = self};
    self->table = endpoint_table_new(&self->home, self->audit);
    return 0;
}

void endpoints_thread(zsock_t *pipe, void *args)
{
    endpoints_making_t *making = args;
    endpoint_actor_t self = {.pipe = pipe};
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    int r = prepare(&self, making);

    /* `making` is the other thread's from here on. */
    zsock_signal(pipe, r < 0 ? 1 : 0);
    if (r == 0) {
        item.fd = frontend_fd(self.frontend);
        restore_all(&self);
        zloop_reader(self.loop, pipe, on_pipe, &self);
        zloop_poller(self.loop, &item, on_frontend, &self);
        zloop_poller_set_tolerant(self.loop, &item);
        zloop_timer(self.loop, TICK_MS, 0, on_tick, &self);
        zloop_start(self.loop);
        /* Reads the last events of sessions, which say whether they are
         * gone. */
        while (take_event(&self))
            continue;
    }
    destroy(&self);
    handover_finish(pipe);
}
