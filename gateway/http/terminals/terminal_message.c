/* See terminal_message.h. */
#include "gateway/http/terminals/terminal_message.h"

#include "base/utf8.h"
#include "protocol/jspan.h"

/* The types, and the arguments that count. */
#define ELEMENTS 3

static bool is_side(jspan_t value, unsigned *ret_side)
{
    int64_t number;

    if (!jspan_is_integer(value) || !jspan_to_integer(value, &number)
        || number < 1)
        return false;
    *ret_side = number < TERMINAL_MESSAGE_SIDE_MAX ? (unsigned) number
                                                   : TERMINAL_MESSAGE_SIDE_MAX;
    return true;
}

bool terminal_message_read(const void *bytes, size_t size,
                           terminal_message_t *ret_message)
{
    jspan_t whole, elements[ELEMENTS] = {{0}};
    size_t cursor = 0, count = 0;
    fault_t ignored;

    *ret_message = (terminal_message_t){0};
    if (jspan_check(bytes, size, &whole, &ignored) < 0
        || !jspan_is(whole, JSPAN_ARRAY))
        return false;
    while (count < ELEMENTS
           && jspan_each(whole, &cursor, NULL, &elements[count]))
        count++;
    if (count == 0 || !jspan_is(elements[0], JSPAN_STRING))
        return false;
    if (count >= 2 && jspan_text_equals(elements[0], "stdin")
        && jspan_is(elements[1], JSPAN_STRING)) {
        ret_message->kind = TERMINAL_MESSAGE_STDIN;
        jspan_text(elements[1], &ret_message->text);
    } else if (count >= 3 && jspan_text_equals(elements[0], "set_size")
               && is_side(elements[1], &ret_message->rows)
               && is_side(elements[2], &ret_message->columns)) {
        ret_message->kind = TERMINAL_MESSAGE_SET_SIZE;
    }
    return true;
}

void terminal_message_clear(terminal_message_t *self)
{
    buffer_reset(&self->text);
}

void terminal_message_write_setup(buffer_t *out)
{
    buffer_text(out, "[\"setup\",{}]");
}

void terminal_message_write_stdout(buffer_t *out, bytes_t text)
{
    buffer_text(out, "[\"stdout\",");
    jspan_quote(out, text.bytes, text.size);
    buffer_text(out, "]");
}

void terminal_message_write_disconnect(buffer_t *out)
{
    buffer_text(out, "[\"disconnect\",1]");
}
