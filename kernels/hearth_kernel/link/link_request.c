/* See link_request.h. One block of memory holds a request with all its parts.
 * No thread of its own; the link's lock guards the rows. */
#include "kernels/hearth_kernel/link/link_request.h"

#include <string.h>

struct link_request {
    link_request_t *next;
    frame_t frame; /* points into what follows the struct */
    bytes_t parts[];
};

void link_request_destroy(link_request_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static bytes_t copy_part(bytes_t part, uint8_t **end)
{
    bytes_t copy = {*end, part.size};

    if (part.size)
        memcpy(*end, part.bytes, part.size);
    *end += part.size;
    return copy;
}

link_request_t *link_request_new(const frame_t *frame)
{
    size_t head =
        sizeof(link_request_t) + frame->buffer_count * sizeof(bytes_t);
    size_t size = head + frame->metadata.size + frame->content.size;
    link_request_t *self;
    uint8_t *end;

    for (size_t i = 0; i < frame->buffer_count; i++)
        size += frame->buffers[i].size;
    self = mem_new(size);
    end = (uint8_t *) self + head;
    self->frame = *frame;
    self->frame.metadata = copy_part(frame->metadata, &end);
    self->frame.content = copy_part(frame->content, &end);
    for (size_t i = 0; i < frame->buffer_count; i++)
        self->parts[i] = copy_part(frame->buffers[i], &end);
    self->frame.buffers = self->parts;
    return self;
}

const frame_t *link_request_frame(const link_request_t *self)
{
    return &self->frame;
}

void request_row_put(request_row_t *self, link_request_t **request_p)
{
    link_request_t *request = take_ptr(*request_p);

    if (self->first)
        self->last->next = request;
    else
        self->first = request;
    self->last = request;
}

link_request_t *request_row_take(request_row_t *self)
{
    link_request_t *request = self->first;

    if (request) {
        self->first = request->next;
        request->next = NULL;
    }
    return request;
}
