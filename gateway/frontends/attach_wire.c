/* See attach_wire.h. */
#include "gateway/frontends/attach_wire.h"

#include "protocol/limits.h"

#include <stdio.h>
#include <string.h>

#define FRAME_WEIGHT 64 /* a zmq_msg_t */

bool frontend_endpoint(const char *name,
                       char ret_endpoint[FRONTEND_ENDPOINT_SIZE])
{
    size_t size = strlen(name);

    if (!size || size > FRONTEND_NAME_MAX
        || strspn(name, "abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-")
               != size)
        return false;
    snprintf(ret_endpoint, FRONTEND_ENDPOINT_SIZE, "inproc://front-%s", name);
    return true;
}

uint64_t frontend_weight(const bytes_t *frames, size_t count)
{
    uint64_t weight = 0;

    for (size_t i = 0; i < count; i++)
        weight += frames[i].size + FRAME_WEIGHT;
    return weight;
}

uint64_t frontend_number(bytes_t text)
{
    const char *digits = text.bytes;
    uint64_t number = 0;

    for (size_t i = 0; i < text.size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return 0;
        number = number * 10 + (uint64_t) (digits[i] - '0');
    }
    return number;
}
