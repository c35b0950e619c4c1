/* Messages about processes beside a session's kernel, on the channel control
 * (docs/design/PROTOCOL.process.md), as the HTTP side sends and reads them. */
#ifndef HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_PROCESS_MESSAGE_H
#define HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_PROCESS_MESSAGE_H

#include "gateway/http/subscriptions/subscription.h"

/* Sends "process_<verb>" in the subscriber's name. The session has to be
 * greeted. `content` is taken, `data` are bytes beside it. */
int process_message_send(const subscription_t *subscription,
                         const subscriber_t *subscriber, const char *verb,
                         json_t *content, bytes_t data, fault_t *fault);

/* A message that came. */
typedef struct {
    json_t *header;   /* owned */
    json_t *content;  /* owned; NULL if it is no JSON */
    const char *type; /* lent by the header; "" without a type */
    bool is_output;   /* it is process_output, and has: */
    bytes_t output;   /* lent by the event */
} process_message_t;

/* Reads an event. Returns false if it is no message on control for one client;
 * there is nothing to clear then. */
bool process_message_read(const frontend_event_t *event,
                          process_message_t *ret_message);
void process_message_clear(process_message_t *self);
#define cleanup_process_message CLEANUP(process_message_clear)

#endif
