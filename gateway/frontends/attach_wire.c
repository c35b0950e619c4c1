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

bytes_t attach_next(zmsg_t *frames)
{
    zframe_t *frame = zmsg_next(frames);

    return frame ? (bytes_t){zframe_data(frame), zframe_size(frame)}
                 : (bytes_t){0};
}

bool attach_read_head(zframe_t *frame_or_null, attach_head_t *ret_head)
{
    if (!frame_or_null || zframe_size(frame_or_null) != sizeof *ret_head)
        return false;
    memcpy(ret_head, zframe_data(frame_or_null), sizeof *ret_head);
    return true;
}
