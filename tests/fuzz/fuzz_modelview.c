/* Views of outputs that a kernel made up. Text in the view is UTF-8 without
 * control characters, bounded by what was asked for, and each image is a part
 * of the outputs; any pattern can be sought in any line. */
#include "base/utf8.h"
#include "notebooks/json/tree.h"
#include "notebooks/modelview/modelview.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TOKENS    500
#define BYTES_MAX (TOKENS * 36 / 10 + 6000) /* and header, error and marker */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check(bool condition)
{
    if (!condition)
        abort();
}

static void check_text(const buffer_t *text)
{
    const char *at = (const char *) text->data;
    const char *end = at + text->size;

    while (at < end) {
        uint32_t code;
        size_t size = utf8_decode(at, end, &code);
        check(size > 0);
        check(code >= 0x20 || code == '\n' || code == '\t');
        check(code < 0x7F || code > 0x9F);
        at += size;
    }
}

static void check_view(const json_t *outputs, const json_t *value,
                       modelview_status_t status)
{
    modelview_cell_t cell = {.status = status,
                             .cell = 1,
                             .reading.session = "s",
                             .outputs = outputs,
                             .reply = value,
                             .namespace = value,
                             .tokens_max = TOKENS};
    modelview_loss_t loss = {.names = outputs, .cause = "it ended"};
    cleanup_modelview modelview_t view = {0};

    if (status == MODELVIEW_LOST)
        cell.loss = &loss;
    modelview_make(&cell, &view);
    check_text(&view.text);
    check(view.text.size <= BYTES_MAX);
    for (size_t i = 0; i < view.image_count; i++)
        check(strlen(view.images[i].base64) >= view.images[i].base64_size);
}

static void check_reading(const json_t *outputs, const char *pattern)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    modelview_range_t range = {.grep = pattern, .tokens_max = TOKENS};

    for (size_t i = 0; i <= 3; i++) {
        buffer_clear(&out);
        (void) modelview_read_output(outputs, 1, i, &range, &out);
        check(out.size <= BYTES_MAX);
        range.from_line = i;
    }
}

/* A pattern in a line, a newline, and the outputs as JSON or as a text. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *newline = size ? memchr(bytes, '\n', size) : NULL;
    size_t length = newline ? (size_t) (newline - bytes) : 0;
    cleanup_free char *pattern = mem_copy(bytes, length);
    const char *rest = (const char *) bytes + length + (newline != NULL);
    size_t rest_size = size - length - (newline != NULL);
    json_auto_t *outputs = json_tree_load(rest, rest_size, NULL);
    long long cell;
    size_t output;

    (void) modelview_read_ref(pattern, &cell, &output);
    if (!outputs)
        outputs =
            json_pack("[{s:o}]", "text", json_stringn_nocheck(rest, rest_size));
    for (modelview_status_t status = MODELVIEW_OK; status <= MODELVIEW_LOST;
         status++)
        check_view(outputs, json_array_get(outputs, 0), status);
    check_reading(outputs, pattern);
    return 0;
}
