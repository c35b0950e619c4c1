/* What a program in a sandbox shows on a person's terminal. Read as a terminal
 * does, what is left begins no string; nothing more is left out of it, and the
 * pieces in which it comes do not matter. */
#include "gateway/cli/core/raw_terminal.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_one_of(uint8_t byte, const char *bytes)
{
    return byte && strchr(bytes, byte);
}

/* A terminal executes controls inside a sequence; CAN and SUB end it. Some pass
 * over bytes from 0x80 on. */
static void check_shown(const uint8_t *bytes, size_t size)
{
    bool is_escaped = false;

    for (size_t i = 0; i < size; i++) {
        if (i && bytes[i - 1] == 0xc2)
            assert(!is_one_of(bytes[i], "\x90\x98\x9d\x9e\x9f"));
        if (bytes[i] == 0x1b) {
            is_escaped = true;
        } else if (is_one_of(bytes[i], "\x18\x1a")) {
            is_escaped = false;
        } else if (is_escaped && bytes[i] >= ' ' && bytes[i] < 0x7f) {
            assert(!is_one_of(bytes[i], "PX]^_%"));
            is_escaped = false;
        }
    }
}

static void filter(const uint8_t *data, size_t size, size_t step, buffer_t *out)
{
    raw_filter_t self = {0};

    for (size_t at = 0; at < size; at += step) {
        bytes_t piece = {data + at, size - at < step ? size - at : step};
        raw_filter_show(&self, piece, out);
    }
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
