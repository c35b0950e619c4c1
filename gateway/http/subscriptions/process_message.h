/* Requests about processes beside a session's kernel, on the channel control
 * (docs/design/PROTOCOL.process.md), as the HTTP side sends them. */
#ifndef HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_PROCESS_MESSAGE_H
#define HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_PROCESS_MESSAGE_H

#include "gateway/http/subscriptions/subscription.h"

/* Sends "process_<verb>" in the subscriber's name. The session has to be
 * greeted. `content` is taken, `data` are bytes beside it. */
int process_message_send(const subscription_t *subscription,
                         const subscriber_t *subscriber, const char *verb,
                         json_t *content, bytes_t data, fault_t *fault);

#endif
