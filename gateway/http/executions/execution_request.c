/* See execution_request.h. */
#include "gateway/http/executions/execution_request.h"

#include "base/clock.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

void execution_request_id(char ret_id[EXECUTION_ID_SIZE])
{
    uint8_t bytes[16];

    randombytes_buf(bytes, sizeof bytes);
    uuid_write(bytes, 4, ret_id);
}

message_t *execution_request_message(const char *id, const char *kernel_session,
                                     const char *type, const json_t *parent,
                                     const json_t *metadata,
                                     const json_t *content)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    char *texts[3] = {NULL};
    const json_t *const parts[] = {parent, metadata, content};
    bytes_t bytes[3] = {{0}};

    message_write_header(&header, id, kernel_session, type, clock_wall_us());
    for (size_t i = 0; i < 3; i++) {
        texts[i] = parts[i] ? json_dumps(parts[i], JSON_COMPACT) : NULL;
        if (texts[i])
            bytes[i] = text_bytes(texts[i]);
    }
    message_t *message =
        message_new(buffer_bytes(&header), bytes[0], bytes[1], bytes[2]);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    return message;
}

int execution_request_send(http_t *http, const char *session,
                           const execution_t *run, channel_t channel,
                           const message_t *message, fault_t *fault)
{
    cleanup_free char *client = mem_format(EXECUTION_CLIENT "%s", run->id);

    return frontend_request(http->frontend, session, client, channel, message,
                            fault);
}

int execution_request_answer(http_t *http, const char *session,
                             execution_t *run, const char *value,
                             fault_t *fault)
{
    json_auto_t *content =
        json_pack("{s:s,s:s}", "status", "ok", "value", value);
    char id[EXECUTION_ID_SIZE];
    int r;

    execution_request_id(id);
    cleanup_message message_t *message = execution_request_message(
        id, "", "input_reply", json_object_get(run->question, "parent_header"),
        NULL, content);
    r = execution_request_send(http, session, run, CHANNEL_STDIN, message,
                               fault);
    if (r < 0)
        return r;
    run->answered_seq = run->question_seq;
    run->state = EXECUTION_RUNNING;
    return 0;
}
