/* What is left of a start and of a `1+1` when gateway and kernel do nothing:
 * libzmq with its thread, one thread beside it, and messages that are written
 * already. The other side of `quick_client gateway`: it checks, signs, keeps
 * and runs nothing.
 *
 *     bare_server FOLDER tcp|ipc
 *
 * Makes management.sock, management.key and a connection file in FOLDER, says
 * "ready", and serves until it is killed. */
#include "base/fault.h"
#include "base/fd.h"
#include "protocol/connection_file.h"

#include <czmq.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELIMITER "<IDS|MSG>"
#define KEY_FILE  "management.key"
#define NULLS     "00000000000000000000000000000000"

typedef struct {
    zsock_t *management, *shell, *iopub;
    char connection_file[256];
    char created[512]; /* the answer to each request on management */
} bare_server_t;

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "bare_server: %s: %s\n", what, why);
    exit(1);
}

/* Sends a message to the client of the request, or to all with `first` as the
 * topic. `request` is read from its beginning. */
static void say(zsock_t *socket, zmsg_t *request, const char *first,
                const char *type, const char *content)
{
    zmsg_t *message = zmsg_new();
    zframe_t *frame, *copy;

    if (first)
        zmsg_addstr(message, first);
    for (frame = zmsg_first(request); frame && !zframe_streq(frame, DELIMITER);
         frame = zmsg_next(request)) {
        if (first)
            continue;
        copy = zframe_dup(frame);
        zmsg_append(message, &copy);
    }
    (void) zmsg_next(request); /* its signature */
    frame = zmsg_next(request);
    copy = frame ? zframe_dup(frame) : zframe_new("{}", 2);
    zmsg_addstr(message, DELIMITER);
    zmsg_addstr(message, NULLS NULLS);
    zmsg_addstrf(message, "{\"msg_type\":\"%s\"}", type);
    zmsg_append(message, &copy);
    zmsg_addstr(message, "{}");
    zmsg_addstr(message, content);
    if (zmsg_send(&message, socket) < 0)
        give_up(type, zmq_strerror(zmq_errno()));
}

static void serve(bare_server_t *self, zsock_t *socket)
{
    zmsg_t *message = zmsg_recv(socket);

    if (!message)
        give_up("receive", zmq_strerror(zmq_errno()));
    if (socket == self->management) {
        say(socket, message, NULL, "answer", self->created);
    } else if (socket == self->shell) {
        say(self->iopub, message, "", "status",
            "{\"execution_state\":\"busy\"}");
        say(self->iopub, message, "", "execute_input", "{}");
        say(socket, message, NULL, "execute_reply", "{\"status\":\"ok\"}");
        say(self->iopub, message, "", "status",
            "{\"execution_state\":\"idle\"}");
    } else if (zframe_data(zmsg_first(message))[0] == 1) {
        say(socket, message, "", "iopub_welcome", "{}");
    }
    zmsg_destroy(&message);
}

static zsock_t *bind_channel(connection_file_t *connection, channel_t channel,
                             int type)
{
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    zsock_t *socket = zsock_new(type);
    int port;

    connection_file_endpoint(connection, channel, endpoint);
    if (strcmp(connection->transport, "tcp") == 0)
        snprintf(endpoint, sizeof endpoint, "tcp://%s:*", connection->ip);
    port = zsock_bind(socket, "%s", endpoint);
    if (port < 0)
        give_up(endpoint, zmq_strerror(zmq_errno()));
    if (port > 0)
        connection->ports[channel] = port;
    return socket;
}

static void open_sockets(bare_server_t *self, const char *folder,
                         const char *transport)
{
    connection_file_t connection = {
        .ip = "127.0.0.1",
        .kernel_name = "python3",
        /* none of them is used but shell and iopub */
        .ports = {1, 2, 3, 4, 5}};
    char key_file[sizeof self->connection_file];
    fault_t fault;

    self->management = zsock_new(ZMQ_ROUTER);
    if (zsock_bind(self->management, "ipc://%s/management.sock", folder) < 0)
        give_up(folder, zmq_strerror(zmq_errno()));
    snprintf(connection.transport, sizeof connection.transport, "%s",
             transport);
    if (strcmp(transport, "ipc") == 0)
        snprintf(connection.ip, sizeof connection.ip, "%s/channel", folder);
    self->shell = bind_channel(&connection, CHANNEL_SHELL, ZMQ_ROUTER);
    self->iopub = bind_channel(&connection, CHANNEL_IOPUB, ZMQ_XPUB);
    snprintf(key_file, sizeof key_file, "%s/" KEY_FILE, folder);
    snprintf(self->connection_file, sizeof self->connection_file,
             "%s/connection.json", folder);
    snprintf(self->created, sizeof self->created,
             "{\"status\":\"ok\",\"session\":{\"id\":\"bare\","
             "\"connection_file\":\"%s\"}}",
             self->connection_file);
    if (secret_new(NULLS NULLS, 64, &connection.secret, &fault) < 0
        || connection_file_write(&connection, self->connection_file, &fault) < 0
        || file_replace(key_file, 0600, NULLS NULLS, 64, &fault) < 0)
        give_up(folder, fault.text);
    connection_file_clear(&connection);
}

int main(int argc, char **argv)
{
    bare_server_t self;
    zpoller_t *poller;

    if (argc != 3)
        give_up("usage", "bare_server FOLDER tcp|ipc");
    open_sockets(&self, argv[1], argv[2]);
    poller = zpoller_new(self.management, self.shell, self.iopub, NULL);
    puts("ready");
    fflush(stdout);
    for (;;) {
        zsock_t *socket = zpoller_wait(poller, -1);

        if (!socket)
            give_up("wait", zmq_strerror(zmq_errno()));
        serve(&self, socket);
    }
}
