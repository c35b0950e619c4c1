/* See talk.h. */
#include "gateway/cli/talk.h"

#include "base/clock.h"

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

void talk_catch_signals(void (*on_signal)(int number))
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}
