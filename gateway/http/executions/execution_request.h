/* Requests to run code, and answers to input(), as the gateway's HTTP side
 * sends them to a session. */
#ifndef HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_REQUEST_H
#define HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_REQUEST_H

#include "gateway/http/executions/executions.h"

#include "protocol/message.h"

/* Writes a random id. */
void execution_request_id(char ret_id[EXECUTION_ID_SIZE]);
/* Returns a message of a new id to the kernel, for the caller. `parent` and
 * `metadata` may be NULL. */
message_t *execution_request_message(const char *id, const char *kernel_session,
                                     const char *type, const json_t *parent,
                                     const json_t *metadata,
                                     const json_t *content);
/* Sends a message to the session in the name of the run. */
int execution_request_send(http_t *http, const char *session,
                           const execution_t *run, channel_t channel,
                           const message_t *message, fault_t *fault);
/* Answers the question that the run asks by input(). */
int execution_request_answer(http_t *http, const char *session,
                             execution_t *run, const char *value,
                             fault_t *fault);

#endif
