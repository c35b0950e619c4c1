/* An order to a zygote. There is one way to write it: what was read, written
 * again, must be the bytes that came. */
#include "kernels/order.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_buffer buffer_t again = BUFFER_EMPTY;
    const char *name, *value;
    order_answer_t answer;
    order_texts_t texts;
    order_t order;
    fault_t fault;

    if (order_answer_decode(data, size, &answer))
        assert(strlen(answer.fault.text) < sizeof answer.fault.text);
    if (order_decode(data, size, &order, &texts, &fault) < 0)
        return 0;
    order_encode(&order, texts.hostname, &again);
    while (order_next_variable(&texts, &name, &value))
        order_add_variable(&again, name, value);
    assert(again.size == size);
    assert(memcmp(again.data, data, size) == 0);
    return 0;
}
