/* The text is cut as it is written in JSON, so that what the kernel wrote
 * arrives byte for byte: between two characters, never inside an escape
 * sequence or a surrogate pair. A piece's id is made of the message's and of
 * where the piece begins. It belongs to the caller. See stream_pieces.h. */
#include "gateway/http/ws/stream_pieces.h"

#include "base/utf8.h"
#include "protocol/jspan.h"

#include <inttypes.h>
#include <string.h>

#define ESCAPE_SIZE 6  /* of \uXXXX */
#define UNIT_MAX    12 /* bytes of a character at most: two of those */

struct stream_pieces {
    const websocket_parts_t *whole; /* borrowed */
    jspan_t id;                     /* of its header */
    jspan_t text;                   /* of its content */
    size_t at;                      /* bytes of the text before the next */
    size_t room;                    /* bytes of a piece's text */
    buffer_t header, content;       /* owned; of the last piece */
};

void stream_pieces_destroy(stream_pieces_t **self_p)
{
    stream_pieces_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->header);
    buffer_reset(&self->content);
    free(self);
    *self_p = NULL;
}

/* Reads the header and the content. Returns false if it is no stream message.
 * The spans are without the quotes. */
static bool read_message(stream_pieces_t *self)
{
    const websocket_parts_t *whole = self->whole;
    jspan_t header, content;
    fault_t ignored;

    if (whole->buffer_count
        || jspan_check(whole->header.bytes, whole->header.size, &header,
                       &ignored)
               < 0
        || jspan_check(whole->content.bytes, whole->content.size, &content,
                       &ignored)
               < 0
        || !jspan_text_equals(jspan_member(header, "msg_type"), "stream"))
        return false;
    self->id = jspan_member(header, "msg_id");
    self->text = jspan_member(content, "text");
    if (!jspan_is(self->id, JSPAN_STRING)
        || !jspan_is(self->text, JSPAN_STRING))
        return false;
    self->id.text++;
    self->id.size -= 2;
    self->text.text++;
    self->text.size -= 2;
    return true;
}

stream_pieces_t *stream_pieces_new(const websocket_parts_t *whole,
                                   size_t content_max, uint64_t skip)
{
    cleanup_stream_pieces stream_pieces_t *self = mem_new(sizeof *self);
    size_t rest;

    self->whole = whole;
    if (!read_message(self) || skip > self->text.size)
        return NULL;
    rest = whole->content.size - self->text.size;
    if (content_max / 2 < rest || content_max / 2 < UNIT_MAX)
        return NULL;
    self->at = (size_t) skip;
    self->room = content_max - rest;
    return take_ptr(self);
}

/* Returns true if an escape sequence for half of a surrogate pair begins there,
 * whose second digit is one of those. */
static bool is_half(const char *at, size_t left, const char *digits)
{
    return left >= ESCAPE_SIZE && at[0] == '\\' && at[1] == 'u'
           && (at[2] == 'd' || at[2] == 'D') && strchr(digits, at[3]);
}

/* Returns the bytes of the character that begins there. The text is checked. */
static size_t unit_size(const char *at, size_t left)
{
    if (is_half(at, left, "89abAB")
        && is_half(at + ESCAPE_SIZE, left - ESCAPE_SIZE, "cdefCDEF"))
        return UNIT_MAX;
    if (*at == '\\')
        return at[1] == 'u' ? ESCAPE_SIZE : 2;
    return utf8_length((unsigned char) *at);
}

/* Returns where the piece ends that begins at self->at. */
static size_t find_end(const stream_pieces_t *self)
{
    const char *text = self->text.text;
    size_t end = self->at, size;

    while (end < self->text.size) {
        size = unit_size(text + end, self->text.size - end);
        if (end + size - self->at > self->room)
            break;
        end += size;
    }
    return end;
}

/* Writes a part of the message with another text at a place in it. */
static bytes_t replace(buffer_t *out, bytes_t whole, jspan_t place,
                       bytes_t text)
{
    const char *begin = whole.bytes, *rest = place.text + place.size;

    buffer_clear(out);
    buffer_append(out, begin, (size_t) (place.text - begin));
    buffer_append(out, text.bytes, text.size);
    buffer_append(out, rest, (size_t) (begin + whole.size - rest));
    return buffer_bytes(out);
}

bool stream_pieces_next(stream_pieces_t *self, websocket_parts_t *ret_piece,
                        uint64_t *ret_end)
{
    size_t end = find_end(self);

    if (end == self->at)
        return false;
    *ret_piece = *self->whole;
    ret_piece->content =
        replace(&self->content, self->whole->content, self->text,
                (bytes_t){self->text.text + self->at, end - self->at});
    if (self->at) {
        cleanup_free char *id = mem_format("%.*s_%zu", (int) self->id.size,
                                           self->id.text, self->at);
        ret_piece->header = replace(&self->header, self->whole->header,
                                    self->id, (bytes_t){id, strlen(id)});
    }
    self->at = end;
    *ret_end = end < self->text.size ? end : 0;
    return true;
}
