/* See talk.h. */
#include "gateway/cli/talk.h"

#include "base/clock.h"
#include "gateway/cli/mgmt.h"
#include "notebooks/tree.h"

#include <signal.h>
#include <string.h>

#define WELCOME_MS 3000
#define LOOK_MS    200 /* a signal is noticed at the latest then */

void talk_wait_for_welcome(client_t *client, bool (*is_to_end)(void))
{
    int64_t deadline = clock_monotonic_ms() + WELCOME_MS;
    fault_t fault;

    while (clock_monotonic_ms() < deadline && !(is_to_end && is_to_end())) {
        cleanup_message message_t *message = NULL;
        channel_t channel;

        if (client_receive(client, LOOK_MS, &channel, &message, &fault) == 0
            && strcmp(message_type(message), "iopub_welcome") == 0)
            return;
    }
}

int talk_send(client_t *client, channel_t channel, const char *type,
              const json_t *content, const json_t *metadata,
              const char **ret_id, fault_t *fault)
{
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    cleanup_free char *more =
        metadata ? json_dumps(metadata, JSON_COMPACT) : NULL;

    return client_send(client, channel, type, (bytes_t){text, strlen(text)},
                       (bytes_t){more ? more : "", more ? strlen(more) : 0},
                       ret_id, fault);
}

int talk_interrupt(client_t *client, fault_t *fault)
{
    json_auto_t *nothing = json_object();
    const char *id;

    return talk_send(client, CHANNEL_CONTROL, "interrupt_request", nothing,
                     NULL, &id, fault);
}

int talk_answer(client_t *client, json_t *value, fault_t *fault)
{
    json_auto_t *content =
        json_pack("{s:s, s:o}", "status", "ok", "value", value);
    const char *id;

    return talk_send(client, CHANNEL_STDIN, "input_reply", content, NULL, &id,
                     fault);
}

static talk_t kind(channel_t channel, const char *type, const json_t *content)
{
    if (channel == CHANNEL_SHELL && strcmp(type, "execute_reply") == 0)
        return TALK_REPLY;
    if (channel == CHANNEL_STDIN && strcmp(type, "input_request") == 0)
        return TALK_QUESTION;
    if (channel != CHANNEL_IOPUB)
        return TALK_SIGN;
    if (strcmp(type, "status") != 0)
        return TALK_OUTPUT;
    return strcmp(member_text(content, "execution_state"), "idle") == 0
               ? TALK_IDLE
               : TALK_SIGN;
}

talk_t talk_read(const message_t *message, channel_t channel,
                 const char *request, json_t **ret_content)
{
    bytes_t header = message_parent(message);
    bytes_t text = message_content(message);
    json_auto_t *parent = json_loadb(header.bytes, header.size, 0, NULL);
    json_t *content;

    if (strcmp(member_text(parent, "msg_id"), request) != 0)
        return TALK_OTHERS;
    content = tree_load(text.bytes, text.size, NULL);
    if (!content)
        return TALK_OTHERS;
    *ret_content = content;
    return kind(channel, message_type(message), content);
}

json_t *talk_figures(const message_t *reply)
{
    bytes_t text = message_metadata(reply);
    json_auto_t *metadata = tree_load(text.bytes, text.size, NULL);

    return json_incref(json_object_get(metadata, "hearth"));
}

void talk_catch_signals(void (*on_signal)(int number))
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}
