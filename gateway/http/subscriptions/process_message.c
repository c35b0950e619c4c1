/* See process_message.h. */
#include "gateway/http/subscriptions/process_message.h"

#include "gateway/http/executions/execution_request.h"

int process_message_send(const subscription_t *subscription,
                         const subscriber_t *subscriber, const char *verb,
                         json_t *content, bytes_t data, fault_t *fault)
{
    json_auto_t *owned = content;
    cleanup_free char *type = mem_format("process_%s", verb);
    const char *kernel_session = subscription->kernel_session;
    cleanup_message message_t *message = NULL;
    char id[EXECUTION_ID_SIZE];

    execution_request_id("", NULL, id);
    message = execution_request_message(
        id, kernel_session ? kernel_session : "", type, NULL, NULL, owned);
    if (data.size)
        message_add_buffer(message, data.bytes, data.size);
    return frontend_request(subscription->http->frontend, subscription->id,
                            subscriber->name, CHANNEL_CONTROL, message, fault);
}
