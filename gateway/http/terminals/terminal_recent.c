/* See terminal_recent.h. */
#include "gateway/http/terminals/terminal_recent.h"

#include "base/utf8.h"

#include <string.h>

/* Forgets the oldest, up to the beginning of a line if there is one. */
static void shorten(buffer_t *text)
{
    const char *bytes = (const char *) text->data;
    const char *line;
    size_t over;

    if (text->size <= TERMINAL_RECENT_MAX)
        return;
    over = utf8_next(bytes, text->size - TERMINAL_RECENT_MAX, text->size);
    line = memchr(bytes + over, '\n', text->size - over);
    if (line)
        over = (size_t) (line + 1 - bytes);
    buffer_consume(text, over);
}

void terminal_recent_add(terminal_recent_t *self, bytes_t bytes,
                         buffer_t *ret_whole)
{
    cleanup_buffer buffer_t all = BUFFER_EMPTY;
    size_t whole;

    buffer_append(&all, self->torn.data, self->torn.size);
    buffer_append(&all, bytes.bytes, bytes.size);
    whole = utf8_whole(buffer_bytes(&all));
    buffer_clear(&self->torn);
    buffer_append(&self->torn, all.data + whole, all.size - whole);
    buffer_append(ret_whole, all.data, whole);
    terminal_queries_leave_out(&self->queries, (bytes_t){all.data, whole},
                               &self->text);
    shorten(&self->text);
}

void terminal_recent_write(const terminal_recent_t *self, buffer_t *out)
{
    buffer_append(out, self->text.data, self->text.size);
    buffer_append(out, self->queries.sequence.data,
                  self->queries.sequence.size);
}

void terminal_recent_clear(terminal_recent_t *self)
{
    buffer_reset(&self->torn);
    buffer_reset(&self->text);
    terminal_queries_clear(&self->queries);
}
