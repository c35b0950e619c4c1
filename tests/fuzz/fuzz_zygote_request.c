/* A request to a zygote. There is one way to write it: what was read, written
 * again, must be the bytes that came. */
#include "kernels/zygote_request.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buffer buffer_t again = BUFFER_EMPTY;
    const char *name, *value;
    zygote_reply_t answer;
    zygote_request_texts_t texts;
    zygote_request_t request;
    fault_t fault;

    if (zygote_reply_decode(data, size, &answer))
        assert(strlen(answer.fault.text) < sizeof answer.fault.text);
    if (zygote_request_decode(data, size, &request, &texts, &fault) < 0)
        return 0;
    zygote_request_encode(&request, texts.hostname, &again);
    while (zygote_request_next_variable(&texts, &name, &value))
        zygote_request_add_variable(&again, name, value);
    assert(again.size == size);
    assert(memcmp(again.data, data, size) == 0);
    return 0;
}
