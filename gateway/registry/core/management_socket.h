/* The management socket: a ROUTER over ipc in the runtime folder, and over
 * inproc for the gateway's own frontends. It takes the same signed messages as
 * Jupyter's sockets, with a key of its own in a file of mode 0600. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_MANAGEMENT_SOCKET_H
#define HEARTH_GATEWAY_REGISTRY_CORE_MANAGEMENT_SOCKET_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/message.h"

#include <czmq.h>
#include <jansson.h>

typedef struct management management_t;

/* Returns a socket that is not bound yet, with a fresh key; the caller owns it.
 */
management_t *management_new(const char *runtime_dir);
/* Writes the key's file and binds: clients can connect from now on. */
int management_bind(management_t *self, fault_t *fault);
/* Removes socket and key. */
void management_destroy(management_t **self_p);
#define cleanup_management CLEANUP(management_destroy)

/* Called for a message whose signature is wrong; `who` has sent it. */
typedef void management_watch_fn(void *arg, const char *who,
                                 const char *verdict);
void management_watch(management_t *self, management_watch_fn *watch,
                      void *arg);
zsock_t *management_socket(const management_t *self);
/* Returns the next genuine request, which the caller owns; NULL if no request
 * waits. Its sender is "uid=0 pid=4711", as the operating system names a
 * connected process, or the client for which a frontend asks. */
message_t *management_receive(management_t *self);
/* Answers the request; `answer` is taken. */
void management_reply(management_t *self, const message_t *request,
                      json_t *answer);
/* Answers like management_reply, and destroys the request. */
void management_answer(management_t *self, message_t **request_p,
                       json_t *answer);
/* Answers the request with JSON text. */
void management_reply_text(management_t *self, const message_t *request,
                           const char *text);
/* Answers like management_reply, with `data` as a buffer after the content
 * unless it is empty. */
void management_reply_data(management_t *self, const message_t *request,
                           json_t *answer, bytes_t data);

#endif
