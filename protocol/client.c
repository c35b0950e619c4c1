/* A Jupyter client on up to four sockets. It checks what it receives as
 * strictly as the gateway does, one replay history a socket: the same message
 * may come by two of them. One thread; no heartbeat, because a gateway that
 * is gone shows as a deadline that passes. */
#include "protocol/client.h"

#include "base/clock.h"
#include "base/fd.h"
#include "protocol/connection_file.h"
#include "protocol/limits.h"
#include "protocol/wire.h"

#include <czmq.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

/* Messages that were sent last may still leave for this long after the client
 * was destroyed, as in jupyter_client. */
#define LINGER_MS 1000

#define SESSION_BYTES 16

typedef struct {
    zsock_t *socket;       /* owned; NULL: the channel is not served */
    replay_guard_t *guard; /* owned */
} line_t;

struct client {
    line_t lines[CHANNEL_COUNT];
    secret_t *secret;                    /* owned */
    char session[2 * SESSION_BYTES + 1]; /* also the identity of the DEALERs */
    unsigned long sent;
    unsigned long dropped;
    size_t turn;     /* the channel that is looked at first */
    buffer_t header; /* owned: of the message being sent */
    char *id;        /* owned: of the message sent last */
};

static const struct {
    const char *name;
    int type;
} channels[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) {text, client},
    CHANNELS(X)
#undef X
};

void client_destroy(client_t **self_p)
{
    client_t *self = *self_p;
    if (self == NULL)
        return;
    free(self->id);
    buffer_reset(&self->header);
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        zsock_destroy(&self->lines[i].socket);
        replay_guard_destroy(&self->lines[i].guard);
    }
    secret_destroy(&self->secret);
    free(self);
    *self_p = NULL;
}

/* Takes the secret, which comes first: it makes libsodium ready. */
static client_t *make(secret_t **secret_p)
{
    client_t *self = mem_new(sizeof *self);
    self->secret = take_ptr(*secret_p);
    unsigned char random[SESSION_BYTES];
    randombytes_buf(random, sizeof random);
    sodium_bin2hex(self->session, sizeof self->session, random, sizeof random);
    return self;
}

/* Opens a socket. Identity and subscription are set before connecting, so that
 * a message which the kernel publishes at once is not missed. */
static int open_line(client_t *self, channel_t channel, const char *endpoint,
                     fault_t *fault)
{
    int type = channels[channel].type;
    zsock_t *socket = zsock_new(type);
    if (socket == NULL)
        return fault_set(fault, errno, "make a socket: %s",
                         zmq_strerror(errno));
    self->lines[channel].socket = socket;
    self->lines[channel].guard = replay_guard_new(WIRE_HISTORY_SIZE);
    zsock_set_linger(socket, LINGER_MS);
    zsock_set_maxmsgsize(socket, (int) WIRE_FRAME_MAX);
    if (type == ZMQ_SUB)
        zsock_set_subscribe(socket, "");
    else
        zsock_set_identity(socket, self->session);
    if (zsock_connect(socket, "%s", endpoint) < 0)
        return fault_set(fault, errno, "connect to %s: %s", endpoint,
                         zmq_strerror(errno));
    return 0;
}

int client_new(const char *connection_file, client_t **ret_client,
               fault_t *fault)
{
    cleanup_connection_file connection_file_t connection = {0};
    int r = connection_file_read(connection_file, &connection, fault);
    if (r < 0)
        return r;
    /* A kernel may bind to all interfaces; a client reaches such a kernel by
     * the loopback. */
    if (strcmp(connection.ip, "*") == 0
        || strcmp(connection.ip, "0.0.0.0") == 0)
        memcpy(connection.ip, "127.0.0.1", sizeof "127.0.0.1");

    cleanup_client client_t *self = make(&connection.secret);
    static const channel_t used[] = {CHANNEL_IOPUB, CHANNEL_SHELL,
                                     CHANNEL_CONTROL, CHANNEL_STDIN};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++) {
        char endpoint[CONNECTION_ENDPOINT_SIZE];
        connection_file_endpoint(&connection, used[i], endpoint);
        r = open_line(self, used[i], endpoint, fault);
        if (r < 0)
            return r;
    }
    *ret_client = take_ptr(self);
    return 0;
}

static int read_key(const char *path, secret_t **ret_secret, fault_t *fault)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return fault_set(fault, errno, "look at %s: %s", path, strerror(errno));
    if (status.st_mode & (S_IRWXG | S_IRWXO))
        return fault_set(fault, EPERM, "%s is open to others: mode %04o", path,
                         (unsigned) (status.st_mode & 07777));
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r = file_read(path, SECRET_KEY_MAX, &text, fault);
    if (r < 0)
        return r;
    size_t size = text.size;
    while (size > 0
           && (text.data[size - 1] == '\n' || text.data[size - 1] == '\r'))
        size--;
    r = size > 0 ? secret_new((const char *) text.data, size, ret_secret, fault)
                 : fault_set(fault, EINVAL, "%s is empty", path);
    sodium_memzero(text.data, text.size);
    return r;
}

int client_new_management(const char *endpoint, const char *key_file,
                          client_t **ret_client, fault_t *fault)
{
    cleanup_secret secret_t *secret = NULL;
    int r = read_key(key_file, &secret, fault);
    if (r < 0)
        return r;
    cleanup_client client_t *self = make(&secret);
    r = open_line(self, CHANNEL_CONTROL, endpoint, fault);
    if (r < 0)
        return r;
    *ret_client = take_ptr(self);
    return 0;
}

/* Checks a request's sizes. A receiver drops what is larger, or disconnects: no
 * answer would come. */
static int check_sizes(const client_request_t *request, fault_t *fault)
{
    const struct {
        const char *name;
        size_t size;
    } parts[] = {{"content", request->content.size},
                 {"metadata", request->metadata.size},
                 {"data", request->data.size}};
    size_t total = WIRE_HEADER_MAX;

    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].size > WIRE_FRAME_MAX)
            return fault_set(fault, EMSGSIZE,
                             "the request's %s has %zu bytes; at most %u are "
                             "permitted",
                             parts[i].name, parts[i].size, WIRE_FRAME_MAX);
        total += parts[i].size;
    }
    if (total > WIRE_MESSAGE_MAX)
        return fault_set(fault, EMSGSIZE,
                         "the request has more than %u bytes, which are the "
                         "most",
                         WIRE_MESSAGE_MAX);
    return 0;
}

int client_send(client_t *self, const client_request_t *request,
                const char **ret_msg_id, fault_t *fault)
{
    channel_t channel = request->channel;
    zsock_t *socket = self->lines[channel].socket;
    int r = check_sizes(request, fault);

    if (r < 0)
        return r;

    if (socket == NULL || channels[channel].type != ZMQ_DEALER)
        return fault_set(fault, EINVAL, "nothing can be sent on %s",
                         channels[channel].name);
    char *id = mem_format("%s_%lu", self->session, ++self->sent);
    free(self->id);
    self->id = id;
    buffer_clear(&self->header);
    message_write_header(&self->header, id, self->session, request->type,
                         clock_wall_us());
    wire_parts_t parts = {
        .header = buffer_bytes(&self->header),
        .metadata = request->metadata,
        .content = request->content,
        .buffers = &request->data,
        .buffer_count = request->data.size > 0 ? 1 : 0,
    };
    r = wire_send(zsock_resolve(socket), &parts, self->secret);
    if (r < 0)
        return fault_set(fault, -r, "send %s: %s", request->type,
                         zmq_strerror(-r));
    if (ret_msg_id != NULL)
        *ret_msg_id = id;
    return 0;
}

/* Returns true if a good message was there. */
static bool take_message(client_t *self, channel_t channel,
                         message_t **ret_message)
{
    line_t *line = &self->lines[channel];
    if (!(zsock_events(line->socket) & ZMQ_POLLIN))
        return false;
    zmsg_t *frames = zmsg_recv(line->socket);
    if (frames == NULL)
        return false;
    fault_t fault;
    wire_verdict_t verdict =
        wire_decode(frames, self->secret, line->guard, ret_message, &fault);
    zmsg_destroy(&frames);
    if (verdict != WIRE_OK)
        self->dropped++;
    return verdict == WIRE_OK;
}

/* Looks at each channel once, at another one first each time, so that a
 * chatty iopub does not hide the others. */
static bool take_any(client_t *self, channel_t *ret_channel,
                     message_t **ret_message)
{
    for (size_t i = 0; i < CHANNEL_COUNT; i++) {
        channel_t channel = (channel_t) ((self->turn + i) % CHANNEL_COUNT);
        if (self->lines[channel].socket == NULL
            || !take_message(self, channel, ret_message))
            continue;
        self->turn = (size_t) channel + 1;
        *ret_channel = channel;
        return true;
    }
    return false;
}

static int wait_for_any(client_t *self, long timeout_ms, fault_t *fault)
{
    zmq_pollitem_t items[CHANNEL_COUNT];
    int count = 0;
    for (size_t i = 0; i < CHANNEL_COUNT; i++)
        if (self->lines[i].socket != NULL)
            items[count++] =
                (zmq_pollitem_t){.socket = zsock_resolve(self->lines[i].socket),
                                 .events = ZMQ_POLLIN};
    int ready = zmq_poll(items, count, timeout_ms);
    if (ready < 0)
        return fault_set(fault, errno, "wait for a message: %s",
                         zmq_strerror(errno));
    return 0;
}

int client_receive(client_t *self, int timeout_ms, channel_t *ret_channel,
                   message_t **ret_message, fault_t *fault)
{
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    while (!take_any(self, ret_channel, ret_message)) {
        int64_t left = timeout_ms < 0 ? -1 : deadline - clock_monotonic_ms();
        if (timeout_ms >= 0 && left <= 0)
            return fault_set(fault, ETIMEDOUT, "no message in time");
        int r = wait_for_any(self, (long) left, fault);
        if (r < 0)
            return r;
    }
    return 0;
}

int client_fd(const client_t *self, channel_t channel)
{
    return (int) zsock_fd(self->lines[channel].socket);
}

unsigned long client_dropped(const client_t *self)
{
    return self->dropped;
}
