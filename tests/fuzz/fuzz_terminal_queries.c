/* What a program showed in a web terminal, for a client that comes later. What
 * is left has no terminal answer, nothing more is left out of it, and the
 * pieces in which it comes do not matter. */
#include "gateway/http/terminals/terminal_queries.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A terminal executes controls inside a sequence; CAN, SUB and ESC end it. */
static bool is_passed_over(uint8_t byte)
{
    return (byte < ' ' && byte != 0x18 && byte != 0x1a && byte != 0x1b)
           || byte == 0x7f;
}

/* Finds "ESC [", parameters, intermediate bytes, and a letter that asks. */
static void check_shown(const uint8_t *bytes, size_t size)
{
    int state = 0; /* 1: after ESC, 2: in a control sequence */

    for (size_t i = 0; i < size; i++) {
        if (is_passed_over(bytes[i]))
            continue;
        if (bytes[i] == 0x1b) {
            state = 1;
        } else if (state == 1) {
            assert(bytes[i] != 'Z' && bytes[i] != 'P');
            state = bytes[i] == '[' ? 2 : 0;
        } else if (state == 2 && (bytes[i] < ' ' || bytes[i] >= '@')) {
            assert(bytes[i] >= 0x80 || !strchr("cntx", bytes[i]));
            state = 0;
        }
    }
}

static void filter(const uint8_t *data, size_t size, size_t step, buffer_t *out)
{
    terminal_queries_t self = {0};

    for (size_t at = 0; at < size; at += step) {
        bytes_t piece = {data + at, size - at < step ? size - at : step};
        terminal_queries_leave_out(&self, piece, out);
        assert(self.sequence.size <= TERMINAL_SEQUENCE_MAX);
    }
    terminal_queries_clear(&self);
}

static void assert_same(const buffer_t *one, const buffer_t *other)
{
    assert(one->size == other->size);
    assert(!one->size || memcmp(one->data, other->data, one->size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buffer buffer_t whole = BUFFER_EMPTY, pieces = BUFFER_EMPTY;
    cleanup_buffer buffer_t again = BUFFER_EMPTY;

    filter(data, size, size ? size : 1, &whole);
    assert(whole.size <= size);
    check_shown(whole.data, whole.size);
    filter(data, size, 1 + size % 3, &pieces);
    assert_same(&whole, &pieces);
    filter(whole.data, whole.size, 5, &again);
    assert_same(&whole, &again);
    return 0;
}
