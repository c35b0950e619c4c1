/* Talks to a session over its own sockets, for exec and for the runner of
 * recorded cells. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_KERNEL_CLIENT_H
#define HEARTH_GATEWAY_CLI_CLIENT_KERNEL_CLIENT_H

#include "protocol/client.h"

#include <jansson.h>
#include <stdbool.h>

/* Waits until iopub's subscription is confirmed: it takes effect later than its
 * connection, and the output of a quick cell would be lost. Gives up silently
 * after 3 s, or after a signal if `is_to_end` returns true (NULL: never). */
void kernel_client_wait_for_welcome(client_t *client, bool (*is_to_end)(void));

/* Sends an execute_request; `ret_id` is lent until the next send. */
int kernel_client_execute(client_t *client, const json_t *content,
                          const json_t *metadata, const char **ret_id,
                          fault_t *fault);

int kernel_client_interrupt(client_t *client, fault_t *fault);
/* Answers a question (input_request); `value` is a JSON string, taken. */
int kernel_client_answer(client_t *client, json_t *value, fault_t *fault);

/* Returns hearth's own metadata of a message, NULL if it has none. The
 * caller owns them. */
json_t *kernel_client_figures(const message_t *message);

/* Gives SIGINT, SIGTERM and SIGHUP to the handler, without SA_RESTART: a wait
 * ends with EINTR. */
void kernel_client_catch_signals(void (*on_signal)(int number));

#endif
