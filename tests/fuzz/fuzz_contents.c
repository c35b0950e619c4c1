/* Contents that come and go in pieces. The first byte says where a text is
 * cut. Looked at piece by piece it is the same JSON, and the same UTF-8, as
 * json_check finds in the whole; a model's content gives the same bytes as the
 * whole decoder, and a notebook that is written anew is the same JSON. A model
 * that is parted as it comes is the model that came. */
#include "gateway/http/contents/json_scanner.h"
#include "gateway/http/core/body_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_scan(const uint8_t *bytes, size_t size, size_t step)
{
    scan_t scan = {0};
    json_span_t value = {0};
    fault_t fault;
    bool is_object = json_check(bytes, size, &value, &fault) == 0
                     && json_is(value, JSON_KIND_OBJECT);

    for (size_t at = 0; at < size; at += step)
        scan_json(&scan, bytes + at, size - at < step ? size - at : step);
    if (scan_is_object(&scan) != is_object || scan.size != size)
        abort();
}

static int read_all(content_kind_t kind, json_span_t span, buffer_t *out)
{
    content_t content = {.kind = kind, .span = span};
    fault_t fault;
    int r;

    while ((r = content_next(&content, out, &fault)) > 0)
        continue;
    return r;
}

static void check_text(json_span_t span)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY, whole = BUFFER_EMPTY,
                            decoded = BUFFER_EMPTY;
    scan_t scan = {0};

    (void) read_all(CONTENT_BASE64, span, &decoded);
    if (decoded.size > span.size)
        abort();
    if (read_all(CONTENT_TEXT, span, &text) < 0)
        return;
    json_text(span, &whole);
    if (text.size != whole.size
        || (text.size && memcmp(text.data, whole.data, text.size) != 0))
        abort();
    scan_text(&scan, text.data, text.size);
    if (!scan_is_text(&scan))
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

static void check_notebook(json_span_t span)
{
    cleanup_buffer buffer_t written = BUFFER_EMPTY, before = BUFFER_EMPTY,
                            after = BUFFER_EMPTY;
    json_span_t value;
    fault_t fault;

    if (read_all(CONTENT_NOTEBOOK, span, &written) < 0
        || json_check(written.data, written.size, &value, &fault) < 0)
        abort();
    strip(&before, span.text, span.size);
    strip(&after, (const char *) written.data, written.size);
    if (before.size != after.size
        || memcmp(before.data, after.data, before.size) != 0)
        abort();
}

/* A model that is parted as it comes has the content that the whole has. */
static void check_deposit(const uint8_t *bytes, size_t size, size_t step)
{
    deposits_t all = {.folder = "/tmp", .max = UINT32_MAX};
    deposit_t *deposit = deposit_new(&all, 0);
    cleanup_buffer buffer_t parted = BUFFER_EMPTY, read = BUFFER_EMPTY;
    json_span_t whole = {0}, model = {0}, content;
    fault_t fault;
    bool is_object = json_check(bytes, size, &whole, &fault) == 0
                     && json_is(whole, JSON_KIND_OBJECT);

    for (size_t at = 0; at < size; at += step)
        deposit_feed(deposit, bytes + at, size - at < step ? size - at : step);
    int r = deposit_end(deposit, &model, &fault);
    if (r != -E2BIG && (r == 0) != is_object)
        abort();
    content = json_member(whole, "content");
    if (r == 0 && json_member(model, "content").kind != content.kind)
        abort();
    if (r == 0 && json_is(content, JSON_KIND_STRING)) {
        content_t lent = {.kind = CONTENT_TEXT};
        deposit_lend(deposit, &lent);
        r = content_next(&lent, &parted, &fault);
        if (r != read_all(CONTENT_TEXT, content, &read)
            || parted.size != read.size
            || (read.size && memcmp(parted.data, read.data, read.size) != 0))
            abort();
        content_reset(&lent);
    }
    deposit_destroy(&deposit);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    json_span_t value = {0};
    fault_t fault;

    if (!size)
        return 0;
    check_scan(bytes + 1, size - 1, bytes[0] % 8 + 1);
    check_deposit(bytes + 1, size - 1, bytes[0] % 8 + 1);
    if (json_check(bytes + 1, size - 1, &value, &fault) < 0)
        return 0;
    if (json_is(value, JSON_KIND_STRING))
        check_text(value);
    else if (json_is(value, JSON_KIND_OBJECT))
        check_notebook(value);
    return 0;
}
