/* See process_message.h. */
#include "gateway/http/subscriptions/process_message.h"

#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_request.h"

#include <string.h>

int process_message_send(const subscription_t *subscription,
                         const subscriber_t *subscriber, const char *verb,
                         json_t *content, bytes_t data, fault_t *fault)
{
    json_auto_t *owned = content;
    cleanup_free char *type = mem_format("process_%s", verb);
    const char *kernel_session = subscription->kernel_session;
    cleanup_message message_t *message = NULL;
    char id[EXECUTION_ID_SIZE];

    execution_request_id(id);
    message = execution_request_message(
        id, kernel_session ? kernel_session : "", type, NULL, NULL, owned);
    if (data.size)
        message_add_buffer(message, data.bytes, data.size);
    return frontend_request(subscription->http->frontend, subscription->id,
                            subscriber->name, CHANNEL_CONTROL, message, fault);
}

bool process_message_read(const frontend_event_t *event,
                          process_message_t *ret_message)
{
    process_message_t message = {0};

    if (!event->client.size || event->channel != CHANNEL_CONTROL)
        return false;
    message.header =
        json_loadb(event->header.bytes, event->header.size, 0, NULL);
    message.content =
        json_loadb(event->content.bytes, event->content.size, 0, NULL);
    message.type = model_text(message.header, "msg_type");
    message.is_output =
        strcmp(message.type, "process_output") == 0 && event->buffer_count;
    if (message.is_output)
        message.output = event->buffers[0];
    *ret_message = message;
    return true;
}

void process_message_clear(process_message_t *self)
{
    json_decref(self->header);
    json_decref(self->content);
    *self = (process_message_t){0};
}
