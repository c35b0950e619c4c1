/* The Markdown form of a transcript. Output is untrusted text: it stands in
 * fences longer than any that it contains, without escape sequences and other
 * control characters, so that it can neither leave its block nor steer a
 * terminal. */
#include "notebooks/markdown.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* The end of an escape sequence that begins at `at`. */
static size_t skip_escape(const char *text, size_t size, size_t at)
{
    at++;
    if (at < size && text[at] == '[') {
        for (at++; at < size && ((unsigned char) text[at] & 0xc0) != 0x40;)
            at++;
    } else if (at < size && text[at] == ']') {
        while (at < size && text[at] != '\a' && text[at] != '\033')
            at++;
        if (at + 1 < size && text[at] == '\033')
            at++;
    }
    return at < size ? at + 1 : size;
}

/* Text as a terminal would leave it: what a carriage return took back is gone,
 * and so are escape sequences. */
static void write_plain(const char *text, size_t size, buffer_t *out)
{
    size_t line = out->size;

    for (size_t at = 0; at < size;) {
        unsigned char letter = (unsigned char) text[at];
        if (letter == '\033') {
            at = skip_escape(text, size, at);
            continue;
        }
        /* U+0080 to U+009F: some terminals take them for commands too. */
        if (letter == 0xc2 && at + 1 < size
            && (unsigned char) text[at + 1] < 0xa0) {
            at += 2;
            continue;
        }
        if (letter == '\r' && at + 1 < size && text[at + 1] != '\n'
            && text[at + 1] != '\r')
            out->size = line;
        else if ((letter >= ' ' && letter != 0x7f) || letter == '\t')
            buffer_append(out, &text[at], 1);
        if (letter == '\n') {
            buffer_append(out, "\n", 1);
            line = out->size;
        }
        at++;
    }
}

static size_t longest_fence(const buffer_t *text)
{
    size_t longest = 2;
    size_t run = 0;

    for (size_t i = 0; i < text->size; i++) {
        run = text->data[i] == '`' ? run + 1 : 0;
        if (longest < run)
            longest = run;
    }
    return longest;
}

static void write_block(const char *language, const char *text, size_t size,
                        buffer_t *out)
{
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;
    cleanup_buffer buffer_t fence = BUFFER_EMPTY;

    write_plain(text, size, &plain);
    while (plain.size && plain.data[plain.size - 1] == '\n')
        plain.size--;
    if (!plain.size)
        return;
    for (size_t i = longest_fence(&plain) + 1; i > 0; i--)
        buffer_text(&fence, "`");
    buffer_format(out, "%.*s%s\n", (int) fence.size, (char *) fence.data,
                  language);
    buffer_append(out, plain.data, plain.size);
    buffer_format(out, "\n%.*s\n\n", (int) fence.size, (char *) fence.data);
}

static void write_json_block(const json_t *text, buffer_t *out)
{
    write_block("text", json_string_value(text), json_string_length(text), out);
}

/* Plain text is shown, other types are named. */
static void write_display(const json_t *output, buffer_t *out)
{
    json_t *data = json_object_get(output, "data");
    const char *mime;
    json_t *value;

    write_json_block(json_object_get(data, "text/plain"), out);
    json_object_foreach(data, mime, value)
    {
        if (strncmp(mime, "image/", 6) != 0 || !json_is_string(value))
            continue;
        buffer_text(out, "*");
        write_plain(mime, strlen(mime), out);
        buffer_format(out, ", %zu bytes encoded*\n\n",
                      json_string_length(value));
    }
}

static void write_error(const json_t *output, buffer_t *out)
{
    json_t *traceback = json_object_get(output, "traceback");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    size_t index;
    json_t *line;

    json_array_foreach(traceback, index, line)
    {
        buffer_append(&text, json_string_value(line), json_string_length(line));
        buffer_text(&text, "\n");
    }
    if (!text.size)
        buffer_format(&text, "%s: %s",
                      json_string_value(json_object_get(output, "ename")),
                      json_string_value(json_object_get(output, "evalue")));
    write_block("text", (char *) text.data, text.size, out);
}

static void write_output(const json_t *output, buffer_t *out)
{
    const char *type =
        json_string_value(json_object_get(output, "output_type"));

    if (strcmp(type, "stream") == 0)
        write_json_block(json_object_get(output, "text"), out);
    else if (strcmp(type, "error") == 0)
        write_error(output, out);
    else
        write_display(output, out);
}

/* "## [3] 2026-01-02 03:04:05 (1.2 s)" */
static void write_head(const cell_t *cell, buffer_t *out)
{
    char when[CLOCK_ISO_SIZE];

    clock_iso(cell->asked_us, when);
    when[10] = ' ';
    if (cell->count)
        buffer_format(out, "## [%lld] %.19s", (long long) cell->count, when);
    else
        buffer_format(out, "## [ ] %.19s", when);
    if (cell->ended_us)
        buffer_format(out, " (%.3f s)",
                      (double) (cell->ended_us - cell->asked_us) / 1e6);
    if (!cell->status)
        buffer_text(out, " (no reply)");
    else if (strcmp(cell->status, "ok") != 0) {
        buffer_text(out, " ");
        write_plain(cell->status, strlen(cell->status), out);
    }
    buffer_text(out, "\n\n");
}

void markdown_write(const transcript_t *transcript, buffer_t *out)
{
    for (size_t i = 0; i < transcript->count; i++) {
        const cell_t *cell = &transcript->cells[i];
        size_t index;
        json_t *output;
        if (!cell->request) {
            buffer_format(out, "*%s*\n\n", cell->source);
            continue;
        }
        write_head(cell, out);
        write_block("python", cell->source, strlen(cell->source), out);
        json_array_foreach(cell->outputs, index, output)
            write_output(output, out);
    }
    if (transcript->end_state) {
        char when[CLOCK_ISO_SIZE];
        clock_iso(transcript->end_us, when);
        when[10] = ' ';
        buffer_format(out, "*The session ended %.19s: ", when);
        write_plain(transcript->end_state, strlen(transcript->end_state), out);
        buffer_text(out, "*\n");
    }
}
