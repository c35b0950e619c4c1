/* See terminal_input.h. */
#include "gateway/http/terminals/terminal_input.h"

bool terminal_input_add(terminal_input_t *self, memory_quotas_t *memory,
                        bytes_t text)
{
    size_t size = self->waiting.size + text.size;

    if (size > TERMINAL_INPUT_MAX
        || !memory_quota_set(memory, &self->held, size))
        return false;
    buffer_append(&self->waiting, text.bytes, text.size);
    return true;
}

bool terminal_input_next(terminal_input_t *self, bytes_t *ret_piece)
{
    size_t size = self->waiting.size < TERMINAL_INPUT_PIECE
                      ? self->waiting.size
                      : TERMINAL_INPUT_PIECE;

    *ret_piece = (bytes_t){self->waiting.data, size};
    return size && self->sent - self->read < TERMINAL_INPUT_WINDOW;
}

void terminal_input_sent(terminal_input_t *self, memory_quotas_t *memory,
                         size_t size)
{
    self->sent += (int64_t) size;
    buffer_consume(&self->waiting, size);
    (void) memory_quota_set(memory, &self->held, self->waiting.size);
}

void terminal_input_begin(terminal_input_t *self, int64_t read)
{
    self->read = read;
    if (!self->is_sent_known || self->sent < read)
        self->sent = read;
    self->is_sent_known = true;
}

void terminal_input_clear(terminal_input_t *self, memory_quotas_t *memory)
{
    (void) memory_quota_set(memory, &self->held, 0);
    buffer_reset(&self->waiting);
}
