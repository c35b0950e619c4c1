/* Recorded calls of host tools, on the first line the arguments of a call. What
 * passes has an answer for each of its calls at most once. */
#include "gateway/session/tools/tool_recording.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *newline = memchr(bytes, '\n', size);
    size_t first = newline ? (size_t) (newline - bytes) : size;
    size_t rest = newline ? first + 1 : size;
    cleanup_tool_recording tool_recording_t *self = NULL;
    jspan_t result, error;
    fault_t fault;
    size_t taken = 0;

    if (tool_recording_read((bytes_t){bytes + rest, size - rest}, &self, &fault)
        < 0)
        return 0;
    while (tool_recording_take(self, "t", (bytes_t){bytes, first}, &result,
                               &error)) {
        if (jspan_is(result, JSPAN_ABSENT) == jspan_is(error, JSPAN_ABSENT)
            || ++taken > size)
            abort();
    }
    return 0;
}
