/* See channel.h. */
#include "protocol/channel.h"

#include <string.h>

static const char *const names[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) [CHANNEL_##name] = text,
    CHANNELS(X)
#undef X
};

const char *channel_name(channel_t channel)
{
    return names[channel];
}

channel_t channel_from_name(const char *name, size_t size)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (size == strlen(names[i]) && memcmp(name, names[i], size) == 0)
            return (channel_t) i;
    return CHANNEL_COUNT;
}
