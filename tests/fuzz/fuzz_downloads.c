/* What a worker that has the network says, a line each: a client gets known
 * members alone, and no text has a control. */
#include "base/buffer.h"
#include "gateway/registry/downloads/clone_answer.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/packages_answer.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_text(const char *text, size_t max)
{
    if (strlen(text) > max)
        abort();
    for (; *text; text++)
        if ((unsigned char) *text < ' ' || *text == 0x7F)
            abort();
}

static void check(const json_t *value)
{
    const char *name;
    json_t *inner;
    size_t i;

    if (json_is_string(value))
        check_text(json_string_value(value), 800);
    json_object_foreach((json_t *) (uintptr_t) value, name, inner)
    {
        check_text(name, 16);
        check(inner);
    }
    json_array_foreach(value, i, inner)
    {
        check(inner);
    }
}

static void read_line(const download_kind_t *kind, const uint8_t *line,
                      size_t size)
{
    download_progress_t progress = {.text = ""};
    json_auto_t *reply = download_answer_read(
        kind, (bytes_t){(const char *) line, size}, &progress);

    check_text(progress.text, DOWNLOAD_WORD_MAX - 1);
    check(reply);
    if (reply && !json_object_get(reply, "status"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(bytes + at, '\n', size - at);
        size_t length = end ? (size_t) (end - bytes) - at : size - at;

        read_line(&packages_kind, bytes + at, length);
        read_line(&fetch_kind, bytes + at, length);
        read_line(&clone_kind, bytes + at, length);
        at += length + 1;
    }
    return 0;
}
