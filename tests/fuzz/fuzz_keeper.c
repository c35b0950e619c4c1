/* Messages between gateway and keeper: what was decoded, encoded again, must be
 * the bytes that came. The texts of START are walked as a keeper does. */
#include "base/buffer.h"
#include "protocol/keeper.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    keeper_message_t message;
    fault_t fault;
    bytes_t texts;
    const char *text;
    size_t seen = 0;

    if (keeper_decode((bytes_t){data, size}, &message, &fault) < 0)
        return 0;
    keeper_encode(&message, &out);
    assert(out.size == size && memcmp(out.data, data, size) == 0);
    texts = message.data;
    while ((text = keeper_next_text(&texts)))
        seen += strlen(text) + 1;
    assert(seen + texts.size == message.data.size);
    return 0;
}
