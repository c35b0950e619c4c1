/* What a client without the key sends to the gate. The first byte says where
 * the bytes are cut, the second which limits hold. However they are cut, the
 * same is counted, and never more than came and the limits permit. */
#include "gateway/gate/zmtp_follower.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const zmtp_limits_t all_limits[] = {
    {.frame = 64, .message = 256, .frames = 3, .subscriptions = 200},
    {.frame = 4096, .message = 8192, .frames = 16},
    {.frame = 1 << 27, .message = 1 << 28, .frames = 1024},
};

static zmtp_verdict_t feed(zmtp_follower_t *follower,
                           const zmtp_limits_t *limits, const uint8_t *bytes,
                           size_t size, size_t step)
{
    zmtp_verdict_t verdict = ZMTP_OK;

    for (size_t at = 0; at < size && verdict == ZMTP_OK; at += step) {
        size_t count = size - at < step ? size - at : step;
        uint8_t *piece = malloc(count);

        if (!piece)
            abort();
        memcpy(piece, bytes + at, count);
        verdict = zmtp_follow(follower, limits, piece, count);
        free(piece);
        assert(verdict != ZMTP_OK || follower->unfinished <= limits->message);
        assert(verdict != ZMTP_OK || follower->frames <= limits->frames);
        assert(verdict != ZMTP_OK
               || follower->subscribed <= limits->subscriptions);
    }
    return verdict;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    zmtp_follower_t whole = {0}, cut = {0};
    const zmtp_limits_t *limits;
    size_t step;

    if (size < 2)
        return 0;
    step = bytes[0] ? bytes[0] : 1;
    limits = &all_limits[bytes[1] % 3];
    bytes += 2;
    size -= 2;
    if (size == 0)
        return 0;
    zmtp_verdict_t verdict = feed(&whole, limits, bytes, size, size);
    assert(feed(&cut, limits, bytes, size, step) == verdict);
    assert(*zmtp_verdict_text(verdict));
    if (verdict != ZMTP_OK)
        return 0;
    assert(whole.unfinished == cut.unfinished && whole.left == cut.left);
    assert(whole.finished == cut.finished);
    assert(whole.subscribed == cut.subscribed);
    assert(whole.finished + whole.unfinished <= size * (ZMTP_FRAME_COST + 1));
    return 0;
}
