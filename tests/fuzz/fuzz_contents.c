/* Contents in pieces. The first byte decides where a text is cut. The scanner
 * finds the same JSON and the same UTF-8 in pieces as jspan_check does in the
 * whole. A model's content has the same bytes as from the whole decoder, and a
 * rewritten notebook is the same JSON. */
#include "gateway/http/contents/json_scanner.h"
#include "gateway/http/contents/model_decoder.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_scan(const uint8_t *bytes, size_t size, size_t step)
{
    json_scanner_t scan = {0};
    jspan_t value = {0};
    fault_t fault;
    bool is_object = jspan_check(bytes, size, &value, &fault) == 0
                     && jspan_is(value, JSPAN_OBJECT);

    for (size_t at = 0; at < size; at += step)
        json_scanner_json(&scan, bytes + at,
                          size - at < step ? size - at : step);
    if (json_scanner_is_object(&scan) != is_object || scan.size != size)
        abort();
}

static int read_all(model_decoder_kind_t kind, jspan_t span, buffer_t *out)
{
    model_decoder_t content = {.kind = kind, .span = span};
    fault_t fault;
    int r;

    while ((r = model_decoder_next(&content, out, &fault)) > 0)
        continue;
    return r;
}

static void check_text(jspan_t span)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY, whole = BUFFER_EMPTY,
                            decoded = BUFFER_EMPTY;
    json_scanner_t scan = {0};

    (void) read_all(MODEL_DECODER_BASE64, span, &decoded);
    if (decoded.size > span.size)
        abort();
    if (read_all(MODEL_DECODER_TEXT, span, &text) < 0)
        return;
    jspan_text(span, &whole);
    if (text.size != whole.size
        || (text.size && memcmp(text.data, whole.data, text.size) != 0))
        abort();
    json_scanner_text(&scan, text.data, text.size);
    if (!json_scanner_is_text(&scan))
        abort();
}

/* Blanks aside. */
static void strip(buffer_t *out, const char *text, size_t size)
{
    bool is_string = false;

    for (size_t i = 0; i < size; i++) {
        if (!is_string && strchr(" \t\r\n", text[i]) && text[i])
            continue;
        buffer_append(out, text + i, 1);
        if (text[i] == '"')
            is_string = !is_string;
        else if (text[i] == '\\')
            buffer_append(out, text + ++i, 1);
    }
}

static void check_notebook(jspan_t span)
{
    cleanup_buffer buffer_t written = BUFFER_EMPTY, before = BUFFER_EMPTY,
                            after = BUFFER_EMPTY;
    jspan_t value;
    fault_t fault;

    if (read_all(MODEL_DECODER_NOTEBOOK, span, &written) < 0
        || jspan_check(written.data, written.size, &value, &fault) < 0)
        abort();
    strip(&before, span.text, span.size);
    strip(&after, (const char *) written.data, written.size);
    if (before.size != after.size
        || memcmp(before.data, after.data, before.size) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    jspan_t value = {0};
    fault_t fault;

    if (!size)
        return 0;
    check_scan(bytes + 1, size - 1, bytes[0] % 8 + 1);
    if (jspan_check(bytes + 1, size - 1, &value, &fault) < 0)
        return 0;
    if (jspan_is(value, JSPAN_STRING))
        check_text(value);
    else if (jspan_is(value, JSPAN_OBJECT))
        check_notebook(value);
    return 0;
}
