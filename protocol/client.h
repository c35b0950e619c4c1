/* A Jupyter client: DEALER shell, control and stdin (one identity), SUB iopub
 * subscribed before it connects. One thread. Used by the command line and the
 * management protocol, never by a session. */
#ifndef HEARTH_PROTOCOL_CLIENT_H
#define HEARTH_PROTOCOL_CLIENT_H

#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/message.h"

typedef struct client client_t;

/* Connects to the sockets of the connection file. */
int client_new(const char *connection_file, client_t **ret_client,
               fault_t *fault);
/* Connects to the management socket: one DEALER at `endpoint` with the key in
 * the file `key_file` (mode 0600). Only CHANNEL_CONTROL works. */
int client_new_management(const char *endpoint, const char *key_file,
                          client_t **ret_client, fault_t *fault);
void client_destroy(client_t **self_p);
#define cleanup_client CLEANUP(client_destroy)

typedef struct {
    channel_t channel;
    const char *type; /* "execute_request" */
    bytes_t content;  /* JSON text of an object; size 0 means "{}" */
    bytes_t metadata; /* likewise */
    bytes_t data;     /* one buffer; none if its size is 0 */
} client_request_t;

/* Sends a request. -EMSGSIZE if it is larger than protocol/limits.h permits: it
 * would get no answer. `ret_msg_id` may be NULL; it is lent until the next
 * send. As in Jupyter, the signature does not cover buffers: content has a
 * digest of a buffer that must not be changed. */
int client_send(client_t *self, const client_request_t *request,
                const char **ret_msg_id, fault_t *fault);
/* Receives the next message of any channel within `timeout_ms` (-1: for ever).
 * Returns 0 and the message; -ETIMEDOUT; -EINTR after a signal. Bad messages
 * are dropped and counted. */
int client_receive(client_t *self, int timeout_ms, channel_t *ret_channel,
                   message_t **ret_message, fault_t *fault);
/* Returns ZMQ_FD of a channel's socket, readable when there may be a message.
 * After polling it, and after each send, the caller must receive until
 * -ETIMEDOUT (libzmq's manual, zmq_getsockopt). */
int client_fd(const client_t *self, channel_t channel);
/* Returns how many bad messages were dropped. */
unsigned long client_dropped(const client_t *self);

#endif
