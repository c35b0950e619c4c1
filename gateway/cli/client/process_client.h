/* Talks to a session about processes beside its kernel
 * (docs/design/PROTOCOL.process.md), for run, ps and kill. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_PROCESS_CLIENT_H
#define HEARTH_GATEWAY_CLI_CLIENT_PROCESS_CLIENT_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/config/state_files.h"
#include "protocol/client.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct process_client process_client_t;

/* Connects to the sockets of a session that lives; prints what failed. */
gateway_exit_t process_client_open(const char *session, bool may_start,
                                   process_client_t **ret_client);
void process_client_destroy(process_client_t **self_p);
#define cleanup_process_client CLEANUP(process_client_destroy)

/* Returns the session's whole id, lent. */
const char *process_client_session(const process_client_t *self);
/* Returns a descriptor that becomes readable when there may be a message: then
 * receive until no message comes. */
int process_client_fd(const process_client_t *self);

/* Sends "process_<verb>" with content, which is taken, and bytes beside it. */
void process_client_send(process_client_t *self, const char *verb,
                         json_t *content, bytes_t data);

/* A message that came; both are the caller's. */
typedef struct {
    message_t *message;
    json_t *content;
} process_news_t;

void process_news_clear(process_news_t *self);
#define cleanup_process_news CLEANUP(process_news_clear)
/* Receives within `timeout_ms`. Returns false if nothing came. */
bool process_client_receive(process_client_t *self, int timeout_ms,
                            process_news_t *ret_news);
/* Sends a request, waits for its reply and prints what failed. */
gateway_exit_t process_client_ask(process_client_t *self, const char *verb,
                                  json_t *content, json_t **ret_reply);
/* Returns the exit code that a reply of an error has; prints the error. */
gateway_exit_t process_client_complain(const json_t *reply);
/* Returns true if the session lives and a gateway serves it. */
bool process_client_is_served(process_client_t *self);

#endif
