/* What exec and the runner of recorded cells have in common in talking to a
 * session over its own sockets. */
#ifndef HEARTH_GATEWAY_CLI_TALK_H
#define HEARTH_GATEWAY_CLI_TALK_H

#include "protocol/client.h"

#include <jansson.h>
#include <stdbool.h>

/* Until iopub's subscription is confirmed: it takes effect later than its
 * connection, and what a quick cell says would be lost. Ends without a word
 * after 3 s, and after a signal when `is_to_end` says so (NULL: never). */
void talk_wait_for_welcome(client_t *client, bool (*is_to_end)(void));

/* client_send of JSON; metadata may be NULL. */
int talk_send(client_t *client, channel_t channel, const char *type,
              const json_t *content, const json_t *metadata,
              const char **ret_id, fault_t *fault);

/* SIGINT, SIGTERM and SIGHUP to the handler, without SA_RESTART: waiting ends
 * with EINTR. */
void talk_catch_signals(void (*on_signal)(int number));

#endif
