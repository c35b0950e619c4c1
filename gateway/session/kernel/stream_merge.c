/* See stream_merge.h. */
#include "gateway/session/kernel/stream_merge.h"

#include "base/buffer.h"
#include "protocol/jspan_write.h"

struct stream_merge {
    bool is_open;
    bool is_error; /* stderr */
    uint64_t request;
    uint64_t seq;     /* of the last piece */
    buffer_t content; /* the escaped text as received; not closed */
};

stream_merge_t *stream_merge_new(void)
{
    return mem_new(sizeof(stream_merge_t));
}

void stream_merge_destroy(stream_merge_t **self_p)
{
    stream_merge_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->content);
    free(self);
    *self_p = NULL;
}

bool stream_merge_is_open(const stream_merge_t *self)
{
    return self->is_open;
}

static bool is_error(const kernel_permissions_stream_t *stream)
{
    return jspan_text_equals(stream->name, "stderr");
}

bool stream_merge_joins(const stream_merge_t *self, const frame_t *frame,
                        const kernel_permissions_stream_t *stream)
{
    return self->is_open && self->request == frame->request
           && self->is_error == is_error(stream)
           && self->content.size + stream->text.size <= STREAM_MERGE_MAX;
}

static void open_content(stream_merge_t *self, bool is_stderr)
{
    jspan_write_begin(&self->content);
    jspan_write_text(&self->content, "name", is_stderr ? "stderr" : "stdout");
    jspan_write_open_text(&self->content, "text");
}

void stream_merge_add(stream_merge_t *self, const frame_t *frame,
                      const kernel_permissions_stream_t *stream)
{
    if (!self->is_open)
        open_content(self, is_error(stream));
    self->is_open = true;
    self->is_error = is_error(stream);
    self->request = frame->request;
    self->seq = frame->seq;
    /* Without its quotes. */
    buffer_append(&self->content, stream->text.text + 1, stream->text.size - 2);
}

size_t stream_merge_bytes(const stream_merge_t *self)
{
    return self->content.size;
}

uint64_t stream_merge_request(const stream_merge_t *self)
{
    return self->request;
}

uint64_t stream_merge_seq(const stream_merge_t *self)
{
    return self->seq;
}

bytes_t stream_merge_close(stream_merge_t *self)
{
    jspan_write_end_text(&self->content);
    jspan_write_end(&self->content);
    return buffer_bytes(&self->content);
}

void stream_merge_clear(stream_merge_t *self)
{
    buffer_clear(&self->content);
    self->is_open = false;
}
