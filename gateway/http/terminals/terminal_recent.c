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
    buffer_append(&self->text, all.data, whole);
    shorten(&self->text);
}

void terminal_recent_clear(terminal_recent_t *self)
{
    buffer_reset(&self->torn);
    buffer_reset(&self->text);
}
