/* See kernel_client.h. */
#include "gateway/cli/client/kernel_client.h"

#include "base/clock.h"
#include "gateway/cli/client/management_client.h"
#include "notebooks/json/tree.h"

#include <signal.h>
#include <string.h>

#define WELCOME_MS 3000
#define LOOK_MS    200 /* a signal is noticed at the latest then */

void kernel_client_wait_for_welcome(client_t *client, bool (*is_to_end)(void))
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

static int send_json(client_t *client, channel_t channel, const char *type,
                     const json_t *content, fault_t *fault)
{
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);

    return client_send(client,
                       &(client_request_t){.channel = channel,
                                           .type = type,
                                           .content = text_bytes(text)},
                       NULL, fault);
}

int kernel_client_execute(client_t *client, const json_t *content,
                          const json_t *metadata, const char **ret_id,
                          fault_t *fault)
{
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    cleanup_free char *more = json_dumps(metadata, JSON_COMPACT);

    return client_send(client,
                       &(client_request_t){.channel = CHANNEL_SHELL,
                                           .type = "execute_request",
                                           .content = text_bytes(text),
                                           .metadata = text_bytes(more)},
                       ret_id, fault);
}

int kernel_client_interrupt(client_t *client, fault_t *fault)
{
    json_auto_t *nothing = json_object();

    return send_json(client, CHANNEL_CONTROL, "interrupt_request", nothing,
                     fault);
}

int kernel_client_answer(client_t *client, json_t *value, fault_t *fault)
{
    json_auto_t *content =
        json_pack("{s:s, s:o}", "status", "ok", "value", value);

    return send_json(client, CHANNEL_STDIN, "input_reply", content, fault);
}

json_t *kernel_client_figures(const message_t *message)
{
    bytes_t text = message_metadata(message);
    json_auto_t *metadata = json_tree_load(text.bytes, text.size, NULL);

    return json_incref(json_object_get(metadata, "hearth"));
}

void kernel_client_catch_signals(void (*on_signal)(int number))
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}
