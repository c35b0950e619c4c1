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

int talk_interrupt(client_t *client, fault_t *fault);
/* The reply to a question; `value` is a JSON string, taken. */
int talk_answer(client_t *client, json_t *value, fault_t *fault);

/* What a message is to who waits for the end of a cell. */
typedef enum {
    TALK_OTHERS,   /* not of that request; nothing is given */
    TALK_REPLY,    /* execute_reply */
    TALK_QUESTION, /* input_request */
    TALK_OUTPUT,   /* on iopub, but for its states */
    TALK_IDLE,     /* the last of them */
    TALK_SIGN      /* of that request, and no more than a sign of life */
} talk_t;

/* `request`: the id of the cell's execute_request. */
talk_t talk_read(const message_t *message, channel_t channel,
                 const char *request, json_t **ret_content);
/* What a reply's metadata say of hearth's own; NULL: nothing. The caller's. */
json_t *talk_figures(const message_t *reply);

/* SIGINT, SIGTERM and SIGHUP to the handler, without SA_RESTART: waiting ends
 * with EINTR. */
void talk_catch_signals(void (*on_signal)(int number));

#endif
