/* See output_batch.h. */
#include "gateway/session/kernel/output_batch.h"

#include "base/buffer.h"

#include <assert.h>

/* An output whose metadata and content lie at an offset of the bytes. */
typedef struct {
    uint16_t type;
    uint64_t seq, request;
    size_t at, metadata, content;
} waiting_output_t;

struct output_batch {
    waiting_output_t outputs[OUTPUT_BATCH_MAX];
    size_t first, end; /* those that wait */
    buffer_t bytes;    /* owned */
};

output_batch_t *output_batch_new(void)
{
    return mem_new(sizeof(output_batch_t));
}

void output_batch_destroy(output_batch_t **self_p)
{
    output_batch_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->bytes);
    free(self);
    *self_p = NULL;
}

static size_t size_of(const frame_t *frame)
{
    return frame->metadata.size + frame->content.size;
}

bool output_batch_permits(const frame_t *frame)
{
    return frame->buffer_count == 0 && size_of(frame) <= OUTPUT_BATCH_EACH;
}

bool output_batch_has_room(const output_batch_t *self, const frame_t *frame)
{
    return self->end < OUTPUT_BATCH_MAX
           && self->bytes.size + size_of(frame) <= OUTPUT_BATCH_BYTES;
}

void output_batch_add(output_batch_t *self, const frame_t *frame)
{
    assert(output_batch_has_room(self, frame));
    self->outputs[self->end++] = (waiting_output_t){
        .type = frame->type,
        .seq = frame->seq,
        .request = frame->request,
        .at = self->bytes.size,
        .metadata = frame->metadata.size,
        .content = frame->content.size,
    };
    buffer_append(&self->bytes, frame->metadata.bytes, frame->metadata.size);
    buffer_append(&self->bytes, frame->content.bytes, frame->content.size);
}

size_t output_batch_count(const output_batch_t *self)
{
    return self->end - self->first;
}

size_t output_batch_bytes(const output_batch_t *self)
{
    return output_batch_count(self)
               ? self->bytes.size - self->outputs[self->first].at
               : 0;
}

frame_t output_batch_frame(const output_batch_t *self, size_t index)
{
    const waiting_output_t *output = &self->outputs[self->first + index];
    const uint8_t *bytes = self->bytes.data + output->at;

    return (frame_t){
        .type = output->type,
        .seq = output->seq,
        .request = output->request,
        .metadata = {bytes, output->metadata},
        .content = {bytes + output->metadata, output->content},
    };
}

uint64_t output_batch_seq(const output_batch_t *self)
{
    return output_batch_count(self) ? self->outputs[self->end - 1].seq : 0;
}

void output_batch_take(output_batch_t *self, size_t count)
{
    assert(count <= output_batch_count(self));
    self->first += count;
    if (self->first == self->end)
        output_batch_clear(self);
}

void output_batch_clear(output_batch_t *self)
{
    buffer_clear(&self->bytes);
    self->first = self->end = 0;
}
