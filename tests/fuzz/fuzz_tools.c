/* Host tools as a process registers them. What passes has names that are names,
 * and what is written of it is an offer again, the same one. */
#include "gateway/session/tools/tool_offer.h"
#include "protocol/jspan_write.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void write_all(const tool_offer_t *offer, buffer_t *out)
{
    buffer_text(out, "[");
    for (size_t i = 0; i < tool_offer_size(offer); i++) {
        if (!tool_offer_is_name(tool_offer_name(offer, i)))
            abort();
        tool_offer_begin(offer, i, out);
        jspan_write_end(out);
    }
    buffer_text(out, "]");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_tool_offer tool_offer_t *first = NULL, *second = NULL;
    cleanup_buffer buffer_t one = BUFFER_EMPTY, two = BUFFER_EMPTY;
    fault_t fault;

    if (tool_offer_read((bytes_t){bytes, size}, &first, &fault) < 0)
        return 0;
    write_all(first, &one);
    if (tool_offer_read(buffer_bytes(&one), &second, &fault) < 0)
        abort();
    write_all(second, &two);
    if (one.size != two.size || memcmp(one.data, two.data, one.size) != 0)
        abort();
    return 0;
}
