/* See page_output.h. */
#include "notebooks/formats/page_output.h"

#include "base/base64.h"
#include "base/buffer.h"
#include "notebooks/json/member.h"
#include "notebooks/page/page_clean.h"
#include "notebooks/page/page_text.h"

#include <sodium.h>

#include <string.h>

#define HTML_MAX  (4u << 20) /* bytes that are cleaned */
#define LABEL_MAX 200
#define TYPE_MAX  80
#define SIDE_MAX  99999 /* pixels */
#define TITLE     "HTML that the session wrote"
#define SVG       "image/svg+xml"

static const char *const pictures[] = {"image/png", "image/jpeg", "image/webp",
                                       "image/gif", NULL};

static bytes_t bytes_of(const json_t *text)
{
    return (bytes_t){json_string_value(text), json_string_length(text)};
}

static void write_pre(bytes_t text, buffer_t *out)
{
    /* The parser drops a newline after the tag. */
    buffer_text(out, "<pre>\n");
    page_text_coloured(text, out);
    buffer_text(out, "</pre>\n");
}

static void write_remark(const char *before, const char *type, buffer_t *out)
{
    buffer_format(out, "<p class=\"dim\">%s", before);
    page_text_line(type, TYPE_MAX, out);
    buffer_text(out, "</p>\n");
}

/* ---- pictures ---- */

/* Writes one side of a picture: a figure for a fine screen has twice the
 * pixels, and its size beside them. */
static void write_side(const json_t *size, const char *side, buffer_t *out)
{
    json_int_t pixels = json_integer_value(json_object_get(size, side));

    if (pixels > 0 && pixels <= SIDE_MAX)
        buffer_format(out, " %s=\"%lld\"", side, (long long) pixels);
}

static void begin_picture(const json_t *output, const char *type, buffer_t *out)
{
    const json_t *data = json_object_get(output, "data");
    const json_t *size =
        json_object_get(json_object_get(output, "metadata"), type);
    const char *label = member_text(data, "text/plain");

    buffer_text(out, "<img alt=\"");
    page_text_line(*label ? label : "picture", LABEL_MAX, out);
    buffer_text(out, "\"");
    write_side(size, "width", out);
    write_side(size, "height", out);
    buffer_format(out, " src=\"data:%s;base64,", type);
}

static void write_picture(const json_t *output, const char *type, buffer_t *out)
{
    bytes_t text =
        bytes_of(json_object_get(json_object_get(output, "data"), type));

    if (base64_find(text.bytes, text.size, false) == BASE64_NONE) {
        write_remark("An output is not Base64, and is called ", type, out);
        return;
    }
    begin_picture(output, type, out);
    buffer_append(out, text.bytes, text.size);
    buffer_text(out, "\">\n");
}

/* Writes SVG as a picture, in which no script runs and which loads nothing. */
static void write_svg(const json_t *output, buffer_t *out)
{
    bytes_t text =
        bytes_of(json_object_get(json_object_get(output, "data"), SVG));
    size_t room =
        sodium_base64_encoded_len(text.size, sodium_base64_VARIANT_ORIGINAL);

    begin_picture(output, SVG, out);
    sodium_bin2base64((char *) buffer_reserve(out, room), room, text.bytes,
                      text.size, sodium_base64_VARIANT_ORIGINAL);
    out->size += room - 1;
    buffer_text(out, "\">\n");
}

/* ---- other types ---- */

static void write_html(const json_t *data, buffer_t *out)
{
    bytes_t html = bytes_of(json_object_get(data, "text/html"));
    cleanup_buffer buffer_t clean = BUFFER_EMPTY;
    page_clean_t kept = PAGE_CLEAN_EMPTY;
    const char *more = ": nothing is left of it without scripts and foreign "
                       "files";

    if (html.size > HTML_MAX)
        more = ": too long to be drawn here";
    else
        kept = page_clean(html, &clean);
    if (kept != PAGE_CLEAN_EMPTY)
        more = kept == PAGE_CLEAN_CUT ? ": its end is not shown" : "";
    buffer_format(out, "<aside><p class=\"dim\">" TITLE "%s</p>\n", more);
    if (kept == PAGE_CLEAN_EMPTY) {
        write_pre(bytes_of(json_object_get(data, "text/plain")), out);
    } else {
        buffer_text(out, "<section class=\"html\">");
        buffer_append(out, clean.data, clean.size);
        buffer_text(out, "</section>");
    }
    buffer_text(out, "</aside>\n");
}

static void write_json(const json_t *value, buffer_t *out)
{
    char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);

    buffer_text(out, "<pre>\n");
    page_text((bytes_t){text, text ? strlen(text) : 0}, out);
    buffer_text(out, "</pre>\n");
    free(text);
}

static void write_source(const char *kind, bytes_t text, buffer_t *out)
{
    buffer_format(out, "<p class=\"dim\">%s, as it was written</p>\n", kind);
    write_pre(text, out);
}

static void write_types(json_t *data, buffer_t *out)
{
    const char *separator = "", *type;
    const json_t *value;

    buffer_text(out, "<p class=\"dim\">An output without text: ");
    json_object_foreach(data, type, value)
    {
        buffer_text(out, separator);
        page_text_line(type, TYPE_MAX, out);
        separator = ", ";
    }
    buffer_text(out, "</p>\n");
}

/* Writes the best of a MIME bundle that a static page can have. */
static void write_bundle(const json_t *output, buffer_t *out)
{
    json_t *data = json_object_get(output, "data");

    for (const char *const *type = pictures; *type; type++)
        if (*member_text(data, *type)) {
            write_picture(output, *type, out);
            return;
        }
    if (*member_text(data, SVG))
        write_svg(output, out);
    else if (*member_text(data, "text/html"))
        write_html(data, out);
    else if (json_object_get(data, "application/json"))
        write_json(json_object_get(data, "application/json"), out);
    else if (*member_text(data, "text/latex"))
        write_source("LaTeX", bytes_of(json_object_get(data, "text/latex")),
                     out);
    else if (*member_text(data, "text/markdown"))
        write_source("Markdown",
                     bytes_of(json_object_get(data, "text/markdown")), out);
    else if (*member_text(data, "text/plain"))
        write_pre(bytes_of(json_object_get(data, "text/plain")), out);
    else
        write_types(data, out);
}

/* ---- errors ---- */

/* Passes over colours. */
static const char *skip_colours(const char *at)
{
    while (at[0] == '\033' && at[1] == '[') {
        size_t size = 2 + strspn(at + 2, "0123456789;:");
        if (at[size] != 'm')
            break;
        at += size + 1;
    }
    return at;
}

/* Returns true if the text begins so, whatever its colours. */
static bool begins_with(const char *text, const char *words)
{
    for (; *words; words++, text++) {
        text = skip_colours(text);
        if (*text != *words)
            return false;
    }
    return true;
}

/* Returns true for a part of a traceback that is about a cell. */
static bool is_own(const char *part)
{
    return begins_with(part, "Cell In") || begins_with(part, "Input In");
}

/* Writes the frames of cells and what went wrong; then the whole traceback,
 * unless it has no other frames. */
static void write_error(const json_t *output, buffer_t *out)
{
    cleanup_buffer buffer_t own = BUFFER_EMPTY, whole = BUFFER_EMPTY;
    const json_t *part;
    size_t index;

    json_array_foreach(json_object_get(output, "traceback"), index, part)
    {
        bytes_t text = bytes_of(part);
        if (text.size && is_own(text.bytes)) {
            buffer_append(&own, text.bytes, text.size);
            buffer_text(&own, "\n");
        }
        buffer_append(&whole, text.bytes, text.size);
        buffer_text(&whole, "\n");
    }
    bool has_own = own.size > 0;
    if (has_own || !whole.size)
        buffer_format(&own, "%s: %s", member_text(output, "ename"),
                      member_text(output, "evalue"));
    buffer_text(out, "<section class=\"bad\">\n");
    write_pre(own.size ? buffer_bytes(&own) : buffer_bytes(&whole), out);
    if (has_own) {
        buffer_text(out, "<details open><summary>Whole traceback</summary>\n");
        write_pre(buffer_bytes(&whole), out);
        buffer_text(out, "</details>\n");
    }
    buffer_text(out, "</section>\n");
}

void page_output(const json_t *output, buffer_t *out)
{
    const char *type = member_text(output, "output_type");

    if (strcmp(type, "stream") == 0)
        write_pre(bytes_of(json_object_get(output, "text")), out);
    else if (strcmp(type, "error") == 0)
        write_error(output, out);
    else
        write_bundle(output, out);
}
