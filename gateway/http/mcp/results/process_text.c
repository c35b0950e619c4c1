/* See process_text.h. Lines are made plain one by one, as the view for models
 * makes them. A line that does not end, such as a progress bar's, is made plain
 * from time to time, so that it takes little memory. */
#include "gateway/http/mcp/results/process_text.h"

#include "base/utf8.h"
#include "notebooks/modelview/plain_line.h"

#include <string.h>

void process_text_clear(process_text_t *self)
{
    buffer_reset(&self->line);
    buffer_reset(&self->head);
    buffer_reset(&self->tail);
    *self = (process_text_t){0};
}

/* Appends a text line by line. A newline at its end stays. */
static void write_plain(const void *text, size_t size, buffer_t *out)
{
    cleanup_plain_line plain_line_t line;
    size_t begin = out->size;

    plain_line_init(&line, text, size);
    while (plain_line_next(&line)) {
        buffer_append(out, line.line.bytes, line.line.size);
        buffer_text(out, "\n");
    }
    if (out->size > begin && ((const char *) text)[size - 1] != '\n')
        out->size--;
}

/* Takes bytes from the beginning, up to the beginning of a letter. */
static size_t drop(buffer_t *text, size_t count)
{
    count = utf8_next(text->data, count, text->size);
    buffer_consume(text, count);
    return count;
}

/* Returns how much of a text fits: whole letters. */
static size_t fitting(const buffer_t *text, size_t room)
{
    return text->size <= room ? text->size : utf8_cut(text->data, room);
}

/* Puts a plain text after the others. */
static void put(process_text_t *self, const buffer_t *text)
{
    size_t room = self->tail.size || self->left_out
                      ? 0
                      : PROCESS_TEXT_HEAD - self->head.size;
    size_t size = fitting(text, room);

    buffer_append(&self->head, text->data, size);
    buffer_append(&self->tail, text->data + size, text->size - size);
    if (self->tail.size > PROCESS_TEXT_TAIL)
        self->left_out +=
            drop(&self->tail, self->tail.size - PROCESS_TEXT_TAIL);
}

/* Takes that many bytes of the unfinished line, and adds their plain text. */
static void put_line(process_text_t *self, size_t size)
{
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;

    write_plain(self->line.data, size, &plain);
    buffer_consume(&self->line, size);
    if (plain.size)
        put(self, &plain);
}

/* Drops text that a line without an end has overwritten itself. From the last
 * carriage return on the bytes stay, because the next ones are written
 * there. */
static void shorten(process_text_t *self)
{
    const uint8_t *back = memrchr(self->line.data, '\r', self->line.size);
    size_t before = back ? (size_t) (back - self->line.data) : self->line.size;
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;

    write_plain(self->line.data, before, &plain);
    if (plain.size + self->line.size - before > PROCESS_TEXT_LINE / 2) {
        put_line(self, self->line.size);
        return;
    }
    buffer_append(&plain, self->line.data + before, self->line.size - before);
    buffer_clear(&self->line);
    buffer_append(&self->line, plain.data, plain.size);
}

void process_text_add(process_text_t *self, const void *bytes, size_t size)
{
    const char *at = bytes;

    while (size) {
        size_t room = PROCESS_TEXT_LINE - self->line.size;
        size_t part = size < room ? size : room;
        const uint8_t *end;

        buffer_append(&self->line, at, part);
        at += part;
        size -= part;
        end = memrchr(self->line.data, '\n', self->line.size);
        if (end)
            put_line(self, (size_t) (end - self->line.data) + 1);
        else if (self->line.size == PROCESS_TEXT_LINE)
            shorten(self);
    }
}

void process_text_skip(process_text_t *self, uint64_t count)
{
    size_t size;

    if (!count)
        return;
    if (self->line.size)
        put_line(self, self->line.size);
    size = self->tail.size;
    self->left_out += count + drop(&self->tail, size);
}

void process_text_last(const process_text_t *self, buffer_t *out)
{
    const buffer_t *end = self->tail.size ? &self->tail : &self->head;

    if (self->line.size)
        write_plain(self->line.data, self->line.size, out);
    else
        buffer_append(out, end->data, end->size);
}

void process_text_write(process_text_t *self, long long number, buffer_t *out)
{
    if (self->line.size)
        put_line(self, self->line.size);
    buffer_append(out, self->head.data, self->head.size);
    if (self->left_out)
        buffer_format(out,
                      "%s… %llu bytes left out: read_output ref=process:%lld "
                      "…\n",
                      self->head.size ? "\n" : "",
                      (unsigned long long) self->left_out, number);
    buffer_append(out, self->tail.data, self->tail.size);
}
