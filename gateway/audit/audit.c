/* See audit.h. Writers push lines over inproc to the one thread that has the
 * chained log. A line is the only kind of message, and is written as it comes:
 * text, which a closed socket frees, and no object to hand over. A full queue
 * or a writer's own bound loses records, and the next record that goes through
 * says how many. The writers share one socket, because a socket has a
 * descriptor and there are a thousand writers. A lock guards it, held for the
 * moment of a push. */
#include "gateway/audit/audit.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "notebooks/journal/chained_log.h"
#include "protocol/czmq_cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#define ENDPOINT   "inproc://hearth-audit"
#define QUEUE_MAX  10000 /* records between all writers and the log */
#define BURST      400   /* records that a writer may send at once ... */
#define PER_SECOND 100   /* ... and from then on */
#define TEXT_MAX   1024  /* bytes of a text in a record */
#define LINGER_MS  1000
#define FLUSH_MS   5000

struct audit {
    zactor_t *actor; /* owned */
};

typedef struct {
    zsock_t *pipe, *inbox; /* inbox is owned */
    chained_log_t *log;    /* owned */
    bool is_dirty;
    uint64_t lost; /* records that could not be written */
} log_actor_t;

/* The arguments of the thread. */
typedef struct {
    chained_log_t *log;
} audit_start_t;

/* The socket that all writers share; NULL: there is no log. */
static struct {
    pthread_mutex_t lock;
    zsock_t *socket; /* owned by the log */
} outbox = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct audit_writer {
    char part[16];
    uint64_t lost;
    double credit;  /* records that may be sent now */
    int64_t looked; /* monotonic ms */
};

static void write_record(log_actor_t *self, const char *members)
{
    fault_t fault;

    if (chained_log_append(self->log, members, &fault) == 0) {
        self->is_dirty = true;
        return;
    }
    if (!self->lost++)
        log_error("audit: %s", fault.text);
}

/* Writes a record about the log; chained_log.c knows these by their beginning.
 */
static void write_own(log_actor_t *self, const char *outcome, const char *name,
                      json_t *value)
{
    char iso[CLOCK_ISO_SIZE];
    json_auto_t *object = json_object();
    cleanup_free char *text = NULL;

    clock_iso(clock_wall_us(), iso);
    json_object_set_new(object, "time", json_string(iso));
    json_object_set_new(object, "event", json_string("log"));
    json_object_set_new(object, "who", json_string("audit"));
    json_object_set_new(object, "outcome", json_string(outcome));
    json_object_set_new(object, name, value);
    text = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    text[strlen(text) - 1] = '\0';
    write_record(self, text + 1);
}

static int on_record(zloop_t *loop, zsock_t *socket, void *arg)
{
    log_actor_t *self = arg;

    (void) loop;
    while (zsock_events(socket) & ZMQ_POLLIN) {
        cleanup_free char *members = zstr_recv(socket);
        uint64_t lost = self->lost;

        if (!members)
            break;
        if (lost) {
            self->lost = 0;
            write_own(self, "lost", "count", json_integer((json_int_t) lost));
            if (self->lost) { /* still not */
                self->lost = lost + 1;
                continue;
            }
        }
        write_record(self, members);
    }
    return 0;
}

static int on_flush(zloop_t *loop, int timer, void *arg)
{
    log_actor_t *self = arg;

    (void) loop;
    (void) timer;
    if (self->is_dirty)
        chained_log_flush(self->log);
    self->is_dirty = false;
    return 0;
}

static int on_pipe(zloop_t *loop, zsock_t *pipe, void *arg)
{
    cleanup_zmsg zmsg_t *message = zmsg_recv(pipe);

    (void) loop;
    (void) arg;
    (void) message;
    return -1; /* $TERM */
}

static void audit_actor(zsock_t *pipe, void *args)
{
    audit_start_t *start = args;
    log_actor_t self = {.pipe = pipe, .log = start->log};
    zloop_t *loop = zloop_new();

    self.inbox = zsock_new(ZMQ_PULL);
    zsock_set_rcvhwm(self.inbox, QUEUE_MAX);
    if (zsock_bind(self.inbox, ENDPOINT) < 0)
        log_error("audit: cannot bind %s", ENDPOINT);
    write_own(&self, chained_log_is_damaged(self.log) ? "damaged" : "ok",
              "text", json_string(chained_log_flaw(self.log)));
    zsock_signal(pipe, 0);
    zloop_set_nonstop(loop, true);
    zloop_reader(loop, pipe, on_pipe, &self);
    zloop_reader(loop, self.inbox, on_record, &self);
    zloop_timer(loop, FLUSH_MS, 0, on_flush, &self);
    zloop_start(loop);
    on_record(loop, self.inbox, &self);
    write_own(&self, "closed", "text", json_string(""));
    zloop_destroy(&loop);
    zsock_destroy(&self.inbox);
    chained_log_destroy(&self.log);
}

static void open_outbox(void)
{
    zsock_t *socket = zsock_new(ZMQ_PUSH);

    zsock_set_sndhwm(socket, QUEUE_MAX);
    zsock_set_linger(socket, LINGER_MS);
    if (zsock_connect(socket, ENDPOINT) < 0)
        zsock_destroy(&socket);
    pthread_mutex_lock(&outbox.lock);
    outbox.socket = socket;
    pthread_mutex_unlock(&outbox.lock);
}

static void close_outbox(void)
{
    pthread_mutex_lock(&outbox.lock);
    zsock_destroy(&outbox.socket);
    pthread_mutex_unlock(&outbox.lock);
}

int audit_new(const char *state_dir, uint64_t file_bytes, uint64_t files,
              audit_t **ret_audit, fault_t *fault)
{
    cleanup_free char *folder = mem_format("%s/" AUDIT_FOLDER, state_dir);
    cleanup_free char *key_path = mem_format("%s/" AUDIT_KEY_FILE, state_dir);
    uint8_t key[LOG_KEY_SIZE];
    audit_start_t start = {0};
    int r = log_key_read(key_path, true, key, fault);

    if (r < 0)
        return r;
    r = chained_log_open(folder, key, file_bytes, files, &start.log, fault);
    memset(key, 0, sizeof key);
    if (r < 0)
        return fault_wrap(fault, "the audit log");
    if (*chained_log_flaw(start.log))
        log_warning("audit: %s", chained_log_flaw(start.log));
    *ret_audit = mem_new(sizeof **ret_audit);
    (*ret_audit)->actor = zactor_new(audit_actor, &start);
    open_outbox();
    return 0;
}

void audit_destroy(audit_t **self_p)
{
    audit_t *self = *self_p;

    if (!self)
        return;
    close_outbox();
    zactor_destroy(&self->actor);
    free(self);
    *self_p = NULL;
}

audit_writer_t *audit_writer_new(const char *part)
{
    audit_writer_t *self = mem_new(sizeof *self);

    snprintf(self->part, sizeof self->part, "%s", part);
    self->credit = BURST;
    self->looked = clock_monotonic_ms();
    return self;
}

void audit_writer_destroy(audit_writer_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static bool is_permitted(audit_writer_t *self)
{
    int64_t now = clock_monotonic_ms();

    self->credit +=
        (double) (now - self->looked) * ((double) PER_SECOND / 1000);
    if (self->credit > BURST)
        self->credit = BURST;
    self->looked = now;
    if (self->credit < 1)
        return false;
    self->credit--;
    return true;
}

static bool push(const json_t *object)
{
    cleanup_free char *text =
        json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t size = text ? strlen(text) : 0;
    bool is_sent;

    pthread_mutex_lock(&outbox.lock);
    is_sent = size > 2 && outbox.socket
              && zmq_send(zsock_resolve(outbox.socket), text + 1, size - 2,
                          ZMQ_DONTWAIT)
                     >= 0;
    pthread_mutex_unlock(&outbox.lock);
    return is_sent;
}

static bool is_written(void)
{
    bool is_there;

    pthread_mutex_lock(&outbox.lock);
    is_there = outbox.socket != NULL;
    pthread_mutex_unlock(&outbox.lock);
    return is_there;
}

static json_t *begin_record(const audit_writer_t *self, const char *who,
                            const char *event, const char *session,
                            const char *outcome)
{
    char iso[CLOCK_ISO_SIZE];
    json_t *object = json_object();

    clock_iso(clock_wall_us(), iso);
    json_object_set_new(object, "time", json_string(iso));
    json_object_set_new(object, "event", json_string(event));
    json_object_set_new(object, "who", json_string(who));
    json_object_set_new(object, "part", json_string(self->part));
    json_object_set_new(object, "session", json_string(session));
    json_object_set_new(object, "outcome", json_string(outcome));
    return object;
}

/* Returns the value with a text from outside cut to a bound. \u escapes keep
 * the parts of a character apart, so that no half of one is left. */
static json_t *bounded(json_t *value)
{
    const char *text = json_string_value(value);

    if (!text || strlen(text) <= TEXT_MAX)
        return json_incref(value);
    return json_sprintf("%.*s…", (int) utf8_cut(text, TEXT_MAX), text);
}

void audit_writer_note_by(audit_writer_t *self, const char *who,
                          const char *event, const char *session,
                          const char *outcome, json_t *details)
{
    json_auto_t *taken = details;
    json_auto_t *record = NULL;
    const char *key;
    json_t *value;

    if (!is_written())
        return;
    if (!is_permitted(self)) {
        self->lost++;
        return;
    }
    if (self->lost) {
        json_auto_t *loss =
            begin_record(self, AUDIT_GATEWAY, "lost", session, "lost");

        json_object_set_new(loss, "count",
                            json_integer((json_int_t) self->lost));
        if (!push(loss)) {
            self->lost++;
            return;
        }
        self->lost = 0;
    }
    record = begin_record(self, who, event, session, outcome);
    json_object_foreach(taken, key, value)
        json_object_set_new(record, key, bounded(value));
    if (!push(record))
        self->lost++;
}

void audit_writer_note(audit_writer_t *self, const char *event,
                       const char *session, const char *outcome,
                       json_t *details)
{
    audit_writer_note_by(self, AUDIT_GATEWAY, event, session, outcome, details);
}
