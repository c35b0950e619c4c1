/* Bodies that come in chunks. The first byte says where they are cut, the
 * second how long a body may be. However they are cut the same comes out, and
 * never more than there may be; a body that is written in chunks anew is the
 * same again. */
#include "gateway/http/core/chunked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Each piece has its own memory, so that AddressSanitizer finds a read after
 * its end. */
static int feed(chunked_t *chunks, const uint8_t *bytes, size_t size,
                size_t step, uint64_t max, buffer_t *body)
{
    int r = 0;

    for (size_t at = 0; at < size && r == 0; at += step) {
        size_t count = size - at < step ? size - at : step;
        uint8_t *piece = malloc(count);
        if (!piece)
            abort();
        memcpy(piece, bytes + at, count);
        r = chunked_feed(chunks, piece, count, max, body);
        free(piece);
        if (body->size > max)
            abort();
    }
    if (r != 0 && r != 1 && r != -EBADMSG && r != -EMSGSIZE)
        abort();
    return r;
}

static void assert_same(const buffer_t *left, const buffer_t *right)
{
    if (left->size != right->size
        || (left->size && memcmp(left->data, right->data, left->size) != 0))
        abort();
}

static void write_again(const buffer_t *body, size_t step, buffer_t *out)
{
    for (size_t at = 0; at < body->size; at += step) {
        size_t count = body->size - at < step ? body->size - at : step;
        buffer_format(out, "%zX;x\r\n", count);
        buffer_append(out, body->data + at, count);
        buffer_text(out, "\r\n");
    }
    buffer_text(out, "0\r\nA: b\r\n\r\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t whole = BUFFER_EMPTY, cut = BUFFER_EMPTY,
                            text = BUFFER_EMPTY, again = BUFFER_EMPTY;
    chunked_t at_once = {0}, slow = {0}, third = {0};
    size_t step;
    uint64_t max;

    if (size < 2)
        return 0;
    step = bytes[0] % 16 + 1u;
    max = bytes[1] == 255 ? UINT64_MAX : bytes[1];
    int r = feed(&at_once, bytes + 2, size - 2, size, max, &whole);
    if (feed(&slow, bytes + 2, size - 2, step, max, &cut) != r)
        abort();
    if (r < 0)
        return 0;
    assert_same(&whole, &cut);
    if (at_once.state != slow.state || at_once.left != slow.left)
        abort();
    write_again(&whole, step, &text);
    if (feed(&third, text.data, text.size, step + 1, max, &again) != 1)
        abort();
    assert_same(&whole, &again);
    return 0;
}
