/* See notice_line.h. */
#include "gateway/http/mcp/results/notice_line.h"

#include "base/utf8.h"

static bool is_end(char letter)
{
    return letter == '\n' || letter == '\r';
}

bytes_t notice_line(bytes_t text)
{
    const char *bytes = text.bytes;
    size_t size = text.size, begin;

    while (size && is_end(bytes[size - 1]))
        size--;
    for (begin = size; begin && !is_end(bytes[begin - 1]);)
        begin--;
    if (size - begin > NOTICE_LINE_MAX)
        begin = size - NOTICE_LINE_MAX;
    begin = utf8_next(bytes, begin, size);
    return (bytes_t){bytes + begin, size - begin};
}
