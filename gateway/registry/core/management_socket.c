/* See management_socket.h. Knows no session: it authenticates, parses, and
 * carries answers back. Used by the main thread. */
#include "protocol/jspan.h"

#include "gateway/registry/core/management_socket.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/rate.h"
#include "gateway/audit/audit.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/limits.h"
#include "protocol/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_IPC 107 /* sun_path without its NUL */

/* The process at the other end of a connection. */
typedef struct {
    char who[64];     /* "uid=0 pid=7", for the audit log */
    pid_t process;    /* 0: unknown, or in another PID namespace */
    bool is_external; /* it is no thread of the gateway */
} management_peer_t;

struct management {
    zsock_t *socket;            /* owned */
    secret_t *secret;           /* owned */
    replay_guard_t *history;    /* owned */
    char *path;                 /* owned; of the socket */
    char *key_path;             /* owned */
    uint64_t counter;           /* of message ids */
    management_watch_fn *watch; /* or NULL */
    rate_t log_rate;            /* of what was dropped */
    void *watch_arg;            /* borrowed */
};

void management_destroy(management_t **self_p)
{
    management_t *self = *self_p;

    if (!self)
        return;
    if (self->socket) {
        /* A close alone frees the name some time later. */
        (void) zmq_unbind(zsock_resolve(self->socket), GATEWAY_INPROC_ENDPOINT);
        zsock_destroy(&self->socket);
        unlink(self->path);
        unlink(self->key_path);
    }
    secret_destroy(&self->secret);
    replay_guard_destroy(&self->history);
    free(self->path);
    free(self->key_path);
    free(self);
    *self_p = NULL;
}

management_t *management_new(const char *runtime_dir)
{
    management_t *self = mem_new(sizeof *self);

    self->path = mem_format("%s/%s", runtime_dir, GATEWAY_SOCKET_FILE);
    self->key_path = mem_format("%s/%s", runtime_dir, GATEWAY_KEY_FILE);
    self->secret = secret_new_random();
    self->history = replay_guard_new(WIRE_HISTORY_SIZE);
    return self;
}

static int write_key(const management_t *self, fault_t *fault)
{
    const char *key = secret_text(self->secret);

    file_sweep_beside(self->key_path);
    return file_write_atomic(self->key_path, 0600, key, strlen(key), fault);
}

int management_bind(management_t *self, fault_t *fault)
{
    cleanup_free char *endpoint = mem_format("ipc://%s", self->path);
    int r;

    if (strlen(self->path) > PATH_MAX_IPC)
        return fault_set(fault, ENAMETOOLONG,
                         "%s is longer than %d bytes; set "
                         "gateway/runtime_dir to a shorter folder",
                         self->path, PATH_MAX_IPC);
    r = write_key(self, fault);
    if (r < 0)
        return r;
    self->socket = zsock_new(ZMQ_ROUTER);
    if (!self->socket)
        return fault_set(fault, EMFILE, "no socket: raise RLIMIT_NOFILE");
    zsock_set_linger(self->socket, 500);
    if (zmq_bind(zsock_resolve(self->socket), endpoint) < 0)
        return fault_set(fault, zmq_errno(), "cannot bind %s: %s", endpoint,
                         zmq_strerror(zmq_errno()));
    if (chmod(self->path, 0600) < 0)
        return fault_set(fault, errno, "chmod of %s: %s", self->path,
                         strerror(errno));
    if (zmq_bind(zsock_resolve(self->socket), GATEWAY_INPROC_ENDPOINT) < 0)
        return fault_set(fault, zmq_errno(), "cannot bind %s: %s",
                         GATEWAY_INPROC_ENDPOINT, zmq_strerror(zmq_errno()));
    return 0;
}

void management_watch(management_t *self, management_watch_fn *watch, void *arg)
{
    self->watch = watch;
    self->watch_arg = arg;
}

zsock_t *management_socket(const management_t *self)
{
    return self->socket;
}

/* Finds the process at the other end: libzmq asks the operating system about an
 * ipc connection and gives "localhost:uid:gid:pid". */
static management_peer_t find_peer(zmsg_t *frames)
{
    management_peer_t peer = {.who = AUDIT_GATEWAY};
    /* Not in the first frame, which the ROUTER has added. */
    zframe_t *last = zmsg_last(frames);
    const char *address = last ? zframe_meta(last, "Peer-Address") : NULL;
    const char *numbers = address ? strchr(address, ':') : NULL;
    unsigned uid, gid, pid;

    if (!address)
        return peer;
    peer.is_external = true;
    snprintf(peer.who, sizeof peer.who, AUDIT_UNKNOWN);
    if (numbers && sscanf(numbers, ":%u:%u:%u", &uid, &gid, &pid) == 3) {
        snprintf(peer.who, sizeof peer.who, "uid=%u pid=%u", uid, pid);
        peer.process = (pid_t) pid;
    }
    return peer;
}

/* Names the sender. A frontend of the gateway names its client itself; a
 * process is named by the operating system. */
static void name_sender(message_t *message, const management_peer_t *peer)
{
    cleanup_free char *who = NULL;

    if (!peer->is_external)
        who = jspan_text_new(
            jspan_member(message_metadata_json(message), "hearth_who"));
    message_set_sender(message, who ? who : peer->who, peer->process);
}

/* Answers an authentic request whose JSON breaks a limit or is wrong. Without
 * an answer its client would wait. */
static void refuse(management_t *self, zmsg_t *frames, const char *flaw)
{
    message_t *request = wire_decode_head(frames);

    if (request)
        management_answer(self, &request,
                          management_error("BadRequest", GATEWAY_EXIT_USAGE,
                                           "the request cannot be read: %s",
                                           flaw));
}

message_t *management_receive(management_t *self)
{
    while (zsock_events(self->socket) & ZMQ_POLLIN) {
        cleanup_zmsg zmsg_t *frames = zmsg_recv(self->socket);
        message_t *message = NULL;
        wire_verdict_t verdict;
        management_peer_t peer;
        uint64_t count;
        fault_t fault;

        if (!frames)
            return NULL;
        peer = find_peer(frames);
        verdict =
            wire_decode(frames, self->secret, self->history, &message, &fault);
        if (verdict == WIRE_OK) {
            name_sender(message, &peer);
            return message;
        }
        if (verdict == WIRE_BAD_JSON)
            refuse(self, frames, fault.text);
        if (!rate_allows(&self->log_rate, clock_monotonic_ms(), &count))
            continue;
        if (self->watch)
            self->watch(self->watch_arg, peer.who, wire_verdict_name(verdict));
        log_warning("management: dropped verdict=\"%s\" count=%" PRIu64,
                    wire_verdict_name(verdict), count);
    }
    return NULL;
}

static void reply_type(const message_t *request, char ret_type[64])
{
    const char *type = message_type(request);
    size_t size = strlen(type);

    if (size > 8 && size < 56 && strcmp(type + size - 8, "_request") == 0)
        size -= 8;
    snprintf(ret_type, 64, "%.*s_reply", (int) (size < 56 ? size : 56), type);
}

static void reply(management_t *self, const message_t *request,
                  const char *text, bytes_t data)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    char type[64], id[48];
    wire_parts_t parts = {
        .identities = message_identities(request),
        .identity_count = message_identity_count(request),
        .parent = message_header(request),
        .content = {text, text ? strlen(text) : 0},
        .buffers = &data,
        .buffer_count = data.size ? 1 : 0,
    };

    reply_type(request, type);
    snprintf(id, sizeof id, "management_%llu",
             (unsigned long long) ++self->counter);
    message_write_header(&header, id, "management", type, clock_wall_us());
    parts.header = buffer_bytes(&header);
    if (wire_send(zsock_resolve(self->socket), &parts, self->secret) < 0)
        log_warning("management: an answer was not sent");
}

void management_reply(management_t *self, const message_t *request,
                      json_t *answer)
{
    management_reply_data(self, request, answer, (bytes_t){0});
}

void management_answer(management_t *self, message_t **request_p,
                       json_t *answer)
{
    management_reply(self, *request_p, answer);
    message_destroy(request_p);
}

void management_reply_text(management_t *self, const message_t *request,
                           const char *text)
{
    reply(self, request, text, (bytes_t){0});
}

void management_reply_data(management_t *self, const message_t *request,
                           json_t *answer, bytes_t data)
{
    cleanup_free char *text = json_dumps(answer, JSON_COMPACT);

    reply(self, request, text, data);
    json_decref(answer);
}
