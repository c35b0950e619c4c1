/* See actor.h. The thread is a front: it attaches to each session that a door
 * leads to, and leaves it with the last one. */
#include "gateway/endpoints/actor.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/audit/audit.h"
#include "gateway/config/state_files.h"
#include "gateway/endpoints/internal.h"
#include "gateway/frontends/attach_wire.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <string.h>

#define TICK_MS       1000
#define SOON_MS       20
#define EVENTS_A_TURN 64
#define RETURN_MS     5000  /* who was there before a restart comes back in */
#define ABSENT_MS     60000 /* where nobody has come at all */

struct doors {
    zactor_t *actor; /* owned */
    size_t count;    /* of open doors, as the actor told last */
};

/* What the thread is made from. */
typedef struct {
    const options_t *options; /* borrowed */
    const uint8_t *journal_key;
    fault_t fault; /* of its making */
} making_t;

/* --- Sessions --- */

static void destroy_aim(void **aim_p)
{
    aim_t *aim = *aim_p;

    free(aim->journal);
    free(aim);
    *aim_p = NULL;
}

aim_t *keeper_find_aim(keeper_t *self, const char *session, fault_t *fault)
{
    aim_t *aim = zhashx_lookup(self->aims, session);

    if (aim)
        return aim;
    if (front_attach(self->front, session, fault) < 0)
        return NULL;
    aim = mem_new(sizeof *aim);
    snprintf(aim->id, sizeof aim->id, "%s", session);
    zhashx_insert(self->aims, aim->id, aim);
    return aim;
}

static bool has_doors(const keeper_t *self, const aim_t *aim)
{
    for (const door_t *at = self->doors; at; at = at->next)
        if (at->aim == aim)
            return true;
    return false;
}

void keeper_forget_aim(keeper_t *self, aim_t *aim)
{
    if (has_doors(self, aim))
        return;
    front_leave(self->front, aim->id);
    zhashx_delete(self->aims, aim->id);
}

/* --- The table --- */

/* Ahead of the answer to an order: it has no token. */
static void tell_count(keeper_t *self)
{
    char count[24];

    snprintf(count, sizeof count, "%zu", self->count);
    zstr_sendx(self->pipe, "", count, NULL);
}

void keeper_add(keeper_t *self, door_t *door)
{
    door->next = self->doors;
    self->doors = door;
    self->count++;
    tell_count(self);
    door_listen(door);
    if (door->aim->is_greeted)
        keeper_look_soon(self);
}

static door_t *take_out(keeper_t *self, door_t **at)
{
    door_t *door = *at;

    *at = door->next;
    self->count--;
    return door;
}

void keeper_close(keeper_t *self, door_t **at, const char *who, const char *why)
{
    door_t *door = take_out(self, at);
    aim_t *aim = door->aim;

    log_notice("viewer=%s session=%s closed: %s", door->name, aim->id, why);
    scribe_note_by(self->scribe, who, "viewer_close", aim->id, "ok",
                   json_pack("{s:s,s:s}", "viewer", door->name, "why", why));
    door_remove(&door);
    keeper_forget_aim(self, aim);
    tell_count(self);
}

static void close_all_of(keeper_t *self, const char *session, const char *why)
{
    door_t **at = &self->doors;

    while (*at)
        if (strcmp((*at)->aim->id, session) == 0)
            keeper_close(self, at, AUDIT_GATEWAY, why);
        else
            at = &(*at)->next;
}

void keeper_note_bad(keeper_t *self, const door_t *door, channel_t channel,
                     const char *verdict, uint64_t count)
{
    scribe_note_by(self->scribe, AUDIT_UNKNOWN, "message", door->aim->id,
                   "dropped",
                   json_pack("{s:s,s:s,s:s,s:I}", "viewer", door->name,
                             "channel", channel_name(channel), "verdict",
                             verdict, "count", (json_int_t) count));
}

/* --- What sessions tell --- */

static void read_session(aim_t *aim, const front_event_t *event)
{
    json_auto_t *json =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    const char *state = json_string_value(json_object_get(json, "state"));
    const char *journal = json_string_value(json_object_get(json, "journal"));

    aim->is_gone = state && strcmp(state, "gone") == 0;
    if (journal) {
        free(aim->journal);
        aim->journal = mem_text(journal);
    }
}

static void on_hello(keeper_t *self, aim_t *aim, const front_event_t *event)
{
    bool is_first = !aim->is_greeted;

    read_session(aim, event);
    aim->is_greeted = true;
    aim->seq = event->seq;
    for (door_t *at = self->doors; at && !is_first; at = at->next)
        at->is_behind |= at->aim == aim;
    keeper_look_soon(self);
}

/* A gateway that stops has kept the session, and its doors. Where there was no
 * descriptor to attach with, the next tick tries again. */
static void on_bye(keeper_t *self, aim_t *aim, const front_event_t *event)
{
    json_auto_t *json =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    const char *reason = json_string_value(json_object_get(json, "reason"));

    if (reason && strcmp(reason, "unattached") == 0)
        aim->is_lost = true;
    else if (!reason || strcmp(reason, "drained") != 0)
        close_all_of(self, event->session, "the session is there no more");
}

static void on_message(keeper_t *self, aim_t *aim, const front_event_t *event)
{
    for (door_t *at = self->doors; at; at = at->next)
        if (at->aim == aim)
            door_on_event(at, event);
    if (event->seq > aim->seq)
        aim->seq = event->seq;
}

static bool take_event(keeper_t *self)
{
    front_event_t event;
    aim_t *aim;

    if (!front_next(self->front, &event))
        return false;
    aim = zhashx_lookup(self->aims, event.session);
    if (!aim)
        return true;
    if (event.what == FRONT_EVENT)
        on_message(self, aim, &event);
    else if (event.what == FRONT_HELLO)
        on_hello(self, aim, &event);
    else if (event.what == FRONT_STATE)
        read_session(aim, &event);
    else if (event.what == FRONT_BYE)
        on_bye(self, aim, &event);
    return true;
}

static int on_front(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    keeper_t *self = arg;

    (void) loop;
    (void) item;
    for (int i = 0; i < EVENTS_A_TURN && take_event(self); i++)
        continue;
    return 0;
}

/* --- Time --- */

/* Who was there before a restart is to miss nothing: he is waited for, and
 * longer when nobody is there who would have to wait, too. */
static bool is_awaited(const door_t *door, int64_t now, int64_t patience)
{
    return ports_subscribers(door->ports) < door->awaited
           && now < door->restored + patience;
}

static bool is_missed(const door_t *door, int64_t now)
{
    return !ports_subscribers(door->ports) && is_awaited(door, now, ABSENT_MS);
}

static void look(door_t *door, int64_t now)
{
    if (!door->is_open && !is_awaited(door, now, RETURN_MS))
        door_begin(door);
    if (door->is_open && door->is_behind && !is_missed(door, now)
        && !door_is_full(door))
        door_catch_up(door);
    if (!door->is_open || door->is_behind)
        keeper_look_soon(door->keeper);
}

static int on_soon(zloop_t *loop, int timer, void *arg)
{
    keeper_t *self = arg;
    int64_t now = clock_monotonic_ms();

    (void) loop;
    (void) timer;
    self->soon_timer = 0;
    for (door_t *at = self->doors; at; at = at->next)
        if (at->aim->is_greeted)
            look(at, now); /* else HELLO looks */
    return 0;
}

void keeper_look_soon(keeper_t *self)
{
    if (!self->soon_timer)
        self->soon_timer = zloop_timer(self->loop, SOON_MS, 1, on_soon, self);
}

static void attach_lost(keeper_t *self)
{
    fault_t fault;

    for (aim_t *at = zhashx_first(self->aims); at; at = zhashx_next(self->aims))
        if (at->is_lost && front_attach(self->front, at->id, &fault) == 0)
            at->is_lost = false;
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    keeper_t *self = arg;
    int64_t now = clock_monotonic_ms();
    door_t **at = &self->doors;

    (void) loop;
    (void) timer;
    attach_lost(self);
    while (*at) {
        if (!door_has_file(*at)) {
            keeper_close(self, at, AUDIT_GATEWAY,
                         "its connection file was taken away");
            continue;
        }
        door_on_tick(*at, now);
        at = &(*at)->next;
    }
    return 0;
}

/* --- Orders --- */

static int on_pipe(zloop_t *loop, zsock_t *pipe, void *arg)
{
    keeper_t *self = arg;
    cleanup_zmsg zmsg_t *order = zmsg_recv(pipe);
    cleanup_free char *word = order ? zmsg_popstr(order) : NULL;
    cleanup_free char *token = NULL;

    (void) loop;
    if (!word || strcmp(word, "$TERM") == 0)
        return -1;
    token = zmsg_popstr(order);
    door_order(self, word, token, order);
    return 0;
}

/* --- Birth and death --- */

static void restore(keeper_t *self, const char *name)
{
    char session[FRONT_ID_MAX];
    door_t *door = NULL;
    fault_t fault;

    if (self->count >= DOORS_MAX
        || door_restore(self, name, &door, session, &fault) < 0) {
        log_warning("viewer=%s not opened again: %s", name,
                    self->count >= DOORS_MAX ? "too many" : fault.text);
        return;
    }
    door->aim = keeper_find_aim(self, session, &fault);
    if (!door->aim) {
        log_warning("viewer=%s not opened again: %s", name, fault.text);
        door_destroy(&door);
        return;
    }
    keeper_add(self, door);
}

static void restore_all(keeper_t *self)
{
    DIR *folder = opendir(self->folder);
    const struct dirent *item;

    while (folder && (item = readdir(folder))) {
        size_t size = strlen(item->d_name);
        char name[DOOR_NAME_SIZE];

        if (size != DOOR_NAME_SIZE - 1 + strlen(".door")
            || strcmp(item->d_name + DOOR_NAME_SIZE - 1, ".door") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", DOOR_NAME_SIZE - 1, item->d_name);
        restore(self, name);
    }
    if (folder)
        closedir(folder);
}

static void destroy(keeper_t *self)
{
    while (self->doors) {
        door_t *door = take_out(self, &self->doors);

        door_note(door);
        /* Its tombstone answers to nobody without a gateway. */
        if (door->aim->is_gone)
            door_remove(&door);
        door_destroy(&door);
    }
    front_destroy(&self->front);
    zhashx_destroy(&self->aims);
    zloop_destroy(&self->loop);
    scribe_destroy(&self->scribe);
    free(self->folder);
}

static int prepare(keeper_t *self, making_t *making)
{
    fault_t *fault = &making->fault;
    int r;

    self->options = making->options;
    memcpy(self->journal_key, making->journal_key, sizeof self->journal_key);
    self->folder = mem_format("%s/" DOORS_FOLDER, self->options->runtime_dir);
    self->scribe = scribe_new("viewers");
    self->aims = zhashx_new();
    zhashx_set_destructor(self->aims, destroy_aim);
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    if ((r = path_make_folders(self->folder, 0700, fault)) < 0)
        return r;
    return front_new(DOORS_FRONT, self->options->runtime_dir, &self->front,
                     fault);
}

static void doors_actor(zsock_t *pipe, void *args)
{
    making_t *making = args;
    keeper_t self = {.pipe = pipe};
    zmq_pollitem_t item = {.events = ZMQ_POLLIN};
    int r = prepare(&self, making);

    /* `making` is the other thread's from here on. */
    zsock_signal(pipe, r < 0 ? 1 : 0);
    if (r == 0) {
        item.fd = front_fd(self.front);
        restore_all(&self);
        zloop_reader(self.loop, pipe, on_pipe, &self);
        zloop_poller(self.loop, &item, on_front, &self);
        zloop_poller_set_tolerant(self.loop, &item);
        zloop_timer(self.loop, TICK_MS, 0, on_tick, &self);
        zloop_start(self.loop);
        /* What sessions said last: whether they are gone. */
        while (take_event(&self))
            continue;
    }
    destroy(&self);
}

int doors_new(const options_t *options,
              const uint8_t journal_key[CHAIN_KEY_SIZE], doors_t **ret_doors,
              fault_t *fault)
{
    making_t making = {.options = options, .journal_key = journal_key};
    doors_t *self = mem_new(sizeof *self);

    self->actor = zactor_new(doors_actor, &making);
    if (making.fault.code) {
        *fault = making.fault;
        doors_destroy(&self);
        return -fault->code;
    }
    *ret_doors = self;
    return 0;
}

void doors_destroy(doors_t **self_p)
{
    doors_t *self = *self_p;

    if (!self)
        return;
    zactor_destroy(&self->actor);
    free(self);
    *self_p = NULL;
}

void doors_open(doors_t *self, const char *token, const char *who,
                const char *session, const char *profile, bool is_observing)
{
    zstr_sendx(self->actor, "OPEN", token, session, profile,
               is_observing ? "1" : "0", who, NULL);
}

void doors_list(doors_t *self, const char *token)
{
    zstr_sendx(self->actor, "LIST", token, NULL);
}

void doors_close(doors_t *self, const char *token, const char *who,
                 const char *name)
{
    zstr_sendx(self->actor, "CLOSE", token, name, who, NULL);
}

zsock_t *doors_socket(const doors_t *self)
{
    return zactor_sock(self->actor);
}

void doors_receive(doors_t *self, char **ret_token, char **ret_answer)
{
    cleanup_zmsg zmsg_t *message = zmsg_recv(zactor_sock(self->actor));
    cleanup_free char *token = message ? zmsg_popstr(message) : NULL;
    cleanup_free char *answer = message ? zmsg_popstr(message) : NULL;

    *ret_token = *ret_answer = NULL;
    if (!token || !answer)
        return;
    if (!token[0]) {
        self->count = strtoul(answer, NULL, 10);
        return;
    }
    *ret_token = take_ptr(token);
    *ret_answer = take_ptr(answer);
}

size_t doors_count(const doors_t *self)
{
    return self->count;
}
