/* Frames of a terminal's client. What is read as input is UTF-8 and no longer
 * than the frame, and comes back as the same text when it is written as output;
 * a size is one that a program's terminal may have. */
#include "gateway/http/terminals/terminal_message.h"

#include "base/utf8.h"
#include "protocol/jspan.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_input(const buffer_t *text)
{
    cleanup_buffer buffer_t frame = BUFFER_EMPTY, again = BUFFER_EMPTY;
    jspan_t whole, element;
    size_t cursor = 0;
    fault_t fault;

    assert(utf8_whole(buffer_bytes(text)) == text->size);
    terminal_message_write_stdout(&frame, buffer_bytes(text));
    assert(jspan_check(frame.data, frame.size, &whole, &fault) == 0);
    assert(jspan_each(whole, &cursor, NULL, &element));
    assert(jspan_each(whole, &cursor, NULL, &element));
    jspan_text(element, &again);
    assert(again.size == text->size
           && memcmp(again.data, text->data, again.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_terminal_message terminal_message_t message;
    size_t whole = utf8_whole((bytes_t){data, size});

    assert(whole <= size && size - whole < 4);
    if (!terminal_message_read(data, size, &message))
        return 0;
    assert(message.text.size <= size);
    if (message.kind == TERMINAL_MESSAGE_SET_SIZE)
        assert(message.rows >= 1 && message.rows <= TERMINAL_MESSAGE_SIDE_MAX
               && message.columns >= 1
               && message.columns <= TERMINAL_MESSAGE_SIDE_MAX);
    if (message.text.size)
        check_input(&message.text);
    return 0;
}
