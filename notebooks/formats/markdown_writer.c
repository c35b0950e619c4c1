/* The Markdown form of a notebook. Output is untrusted text. It is written into
 * fences that are longer than any fence in it, and without escape sequences and
 * other control characters. It can therefore neither leave its block nor
 * control a terminal. */
#include "base/buffer.h"
#include "notebooks/formats/downloads_text.h"
#include "notebooks/formats/writer.h"
#include "notebooks/json/member.h"

#include <stdbool.h>
#include <string.h>

/* Returns the end of an escape sequence that begins at `at`. */
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

/* Returns whether the text has no letter from `line` on: a progress line is
 * blanked by spaces, since not all front ends know the sequence that erases a
 * line. */
static bool is_blank(const buffer_t *text, size_t line)
{
    while (line < text->size && text->data[line] == ' ')
        line++;
    return line == text->size;
}

/* Writes text as a terminal would leave it: what a carriage return took back is
 * gone, and so are escape sequences. */
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
        bool at_end = at + 1 == size;
        if (letter == '\r'
            && (at_end ? is_blank(out, line)
                       : text[at + 1] != '\n' && text[at + 1] != '\r'))
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

/* Writes a short text of the kernel's outside of a fence, as a code span: what
 * could end the span, or be HTML where a renderer knows no spans, is taken
 * out. */
static void write_span(const char *text, size_t size, buffer_t *out)
{
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;

    write_plain(text, size, &plain);
    buffer_text(out, "`");
    for (size_t i = 0; i < plain.size; i++)
        if (!strchr("`<>&\n", plain.data[i]) && plain.data[i])
            buffer_append(out, &plain.data[i], 1);
    buffer_text(out, "`");
}

/* Shows plain text, and names other types without their parameters. */
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
        write_span(mime, strcspn(mime, ";"), out);
        buffer_format(out, ", %zu bytes encoded\n\n",
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

/* Writes "2026-01-02T03:04:05.000006Z" as "2026-01-02 03:04:05"; the text is
 * untrusted if another program wrote the file. */
static void write_time(const char *iso, buffer_t *out)
{
    size_t size = strlen(iso);
    size_t at = out->size;

    write_plain(iso, size < 19 ? size : 19, out);
    if (out->size > at + 10)
        out->data[at + 10] = ' ';
}

/* Writes "## [3] 2026-01-02 03:04:05 (1.2 s)". */
static void write_head(const notebook_cell_t *cell, buffer_t *out)
{
    json_t *own = json_object_get(cell->metadata, "hearth");
    json_t *duration = json_object_get(own, "duration_ms");
    const char *status = member_text(own, "status");

    if (cell->count)
        buffer_format(out, "## [%lld] ", (long long) cell->count);
    else
        buffer_text(out, "## [ ] ");
    write_time(member_text(own, "asked"), out);
    if (json_is_number(duration))
        buffer_format(out, " (%.3f s)", json_number_value(duration) / 1e3);
    if (strcmp(status, "unanswered") == 0)
        buffer_text(out, " (no reply)");
    else if (*status && strcmp(status, "ok") != 0) {
        buffer_text(out, " ");
        write_plain(status, strlen(status), out);
    }
    buffer_text(out, "\n\n");
}

static void write_code(const notebook_cell_t *cell, buffer_t *out)
{
    size_t index;
    json_t *output;

    write_head(cell, out);
    write_block("python", cell->source, cell->source_size, out);
    json_array_foreach(cell->outputs, index, output) write_output(output, out);
}

static void begin(FILE *file)
{
    (void) file;
}

static void write_cell(FILE *file, const notebook_cell_t *cell, size_t index)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    bool is_gap = notebook_cell_note(cell, "gap") != NULL;

    (void) index;
    if (cell->kind == NOTEBOOK_CODE) {
        write_code(cell, &out);
    } else {
        buffer_text(&out, is_gap ? "*" : "");
        write_plain(cell->source, cell->source_size, &out);
        buffer_text(&out, is_gap ? "*\n\n" : "\n\n");
    }
    fwrite(out.data, 1, out.size, file);
}

/* Lists what the session got from outside. */
static void write_downloads(const json_t *own, buffer_t *out)
{
    json_auto_t *lines = downloads_text(own);
    size_t index;
    json_t *line;

    if (json_array_size(lines))
        buffer_text(out, "From outside:\n\n");
    json_array_foreach(lines, index, line)
    {
        buffer_text(out, "- ");
        write_span(json_string_value(line), json_string_length(line), out);
        buffer_text(out, "\n");
    }
    if (json_array_size(lines))
        buffer_text(out, "\n");
}

static void end(FILE *file, json_t *metadata, size_t count)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_t *own = json_object_get(metadata, "hearth");
    const char *reason = member_text(own, "reason");
    const char *damage = member_text(own, "damage");

    (void) count;
    if (*damage) {
        buffer_text(&out, "*The recording is not whole: ");
        write_plain(damage, strlen(damage), &out);
        buffer_text(&out, "*\n\n");
    }
    write_downloads(own, &out);
    if (*reason) {
        buffer_text(&out, "*The session ended ");
        write_time(member_text(own, "ended"), &out);
        buffer_text(&out, ": ");
        write_plain(reason, strlen(reason), &out);
        buffer_text(&out, "*\n");
    }
    if (out.size)
        fwrite(out.data, 1, out.size, file);
}

const notebook_writer_t markdown_writer = {begin, write_cell, end};
