/* A Jupyter client: DEALER shell, control and stdin (one identity), SUB iopub
 * subscribed before it connects. One thread. Used by the command line and the
 * management protocol, never by a session. */
#ifndef HEARTH_PROTOCOL_CLIENT_H
#define HEARTH_PROTOCOL_CLIENT_H

#include "base/fault.h"
#include "protocol/channel.h"
#include "protocol/message.h"

typedef struct client client_t;

/* Connects to what the connection file names. */
int client_new(const char *connection_file, client_t **ret_client,
               fault_t *fault);
/* One DEALER at `endpoint` with the key in the file `key_file` (mode 0600):
 * the management socket; only CHANNEL_CONTROL works. */
int client_new_management(const char *endpoint, const char *key_file,
                          client_t **ret_client, fault_t *fault);
void client_destroy(client_t **self_p);
#define cleanup_client CLEANUP(client_destroy)

/* Sends a request; content is JSON text of an object, metadata may be "".
 * `ret_msg_id` is lent until the next send. */
int client_send(client_t *self, channel_t channel, const char *msg_type,
                bytes_t content, bytes_t metadata, const char **ret_msg_id,
                fault_t *fault);
/* The same with one buffer behind it, unless it is empty. The signature does
 * not cover buffers (so it is in Jupyter): what must not change on its way
 * has its digest in the content. */
int client_send_data(client_t *self, channel_t channel, const char *msg_type,
                     bytes_t content, bytes_t metadata, bytes_t data,
                     const char **ret_msg_id, fault_t *fault);
/* The next message of any channel within `timeout_ms` (-1: for ever),
 * *ret_channel says which. 0: got one; -ETIMEDOUT; -EINTR after a signal. Bad
 * messages are dropped and counted. */
int client_receive(client_t *self, int timeout_ms, channel_t *ret_channel,
                   message_t **ret_message, fault_t *fault);
/* ZMQ_FD of a channel's socket: readable when there may be something. Whoever
 * polls it receives until -ETIMEDOUT, also after each send (libzmq's manual,
 * zmq_getsockopt). */
int client_fd(const client_t *self, channel_t channel);
/* How many bad messages were dropped. */
unsigned long client_dropped(const client_t *self);

#endif
