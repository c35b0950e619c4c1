/* The management socket: ROUTER over ipc in the runtime folder and over inproc
 * for the gateway's own fronts, the same signed messages as Jupyter's, a key of
 * its own in a file of mode 0600. */
#ifndef HEARTH_GATEWAY_REGISTRY_MANAGEMENT_SOCKET_H
#define HEARTH_GATEWAY_REGISTRY_MANAGEMENT_SOCKET_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/message.h"

#include <czmq.h>
#include <jansson.h>

typedef struct management management_t;

/* Makes a fresh key, writes its file, binds. */
int management_new(const char *runtime_dir, management_t **ret_management,
                   fault_t *fault);
/* Removes socket and key. */
void management_destroy(management_t **self_p);

/* Who is told of a message that is not signed rightly, and of whose it is. */
typedef void management_watch_fn(void *arg, const char *who,
                                 const char *verdict);
void management_watch(management_t *self, management_watch_fn *watch,
                      void *arg);
zsock_t *management_socket(const management_t *self);
/* The next genuine request; NULL when there is none. Its sender is who asks:
 * "uid=0 pid=4711" as the kernel says of a process that is connected, or for
 * whom a front asks. */
message_t *management_receive(management_t *self);
/* `answer` is taken. */
void management_reply(management_t *self, const message_t *request,
                      json_t *answer);
/* The same where the answer is JSON text already. */
void management_reply_text(management_t *self, const message_t *request,
                           const char *text);
/* The same with a buffer behind it, unless it is empty. */
void management_reply_data(management_t *self, const message_t *request,
                           json_t *answer, bytes_t data);

#endif
