/* A notebook as one HTML file, which opens from disk, runs nothing and asks no
 * server for anything. Outputs come from code that may be hostile: everything
 * of theirs is text, a picture, or cleaned HTML (page_clean.h), and the page's
 * own policy forbids the rest. The elements around outputs are of kinds that no
 * output can have, so that none can end them. */
#include "base/buffer.h"
#include "notebooks/formats/downloads_text.h"
#include "notebooks/formats/page_output.h"
#include "notebooks/formats/writer.h"
#include "notebooks/json/member.h"
#include "notebooks/page/page_style.h"
#include "notebooks/page/page_text.h"

#include <sodium.h>

#include <stdbool.h>
#include <string.h>

#define TITLE_MAX 400
#define WHO_MAX   60

static void write_out(FILE *file, buffer_t *out)
{
    fwrite(out->data, 1, out->size, file);
    buffer_clear(out);
}

static void begin(FILE *file)
{
    uint8_t hash[crypto_hash_sha256_BYTES];
    char text[sodium_base64_ENCODED_LEN(sizeof hash,
                                        sodium_base64_VARIANT_ORIGINAL)];

    crypto_hash_sha256(hash, (const uint8_t *) page_style, page_style_size);
    sodium_bin2base64(text, sizeof text, hash, sizeof hash,
                      sodium_base64_VARIANT_ORIGINAL);
    fprintf(file,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
            "<meta charset=\"utf-8\">\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\""
            "default-src 'none'; img-src data:; style-src 'sha256-%s'; "
            "base-uri 'none'; form-action 'none'\">\n"
            "<meta name=\"referrer\" content=\"no-referrer\">\n"
            "<meta name=\"viewport\" content=\"width=device-width\">\n"
            "<title>A session of hearth</title>\n<style>%.*s</style>\n"
            "</head>\n<body>\n<main>\n<h1>A session of hearth</h1>\n",
            text, (int) page_style_size, page_style);
}

/* Writes "[3] · ok · 12 ms · 45 MiB · 2026-01-02 03:04:05 · ada". */
static void write_head(const notebook_cell_t *cell, const char *status,
                       buffer_t *out)
{
    json_t *own = json_object_get(cell->metadata, "hearth");
    json_t *duration = json_object_get(own, "duration_ms");
    json_t *memory = json_object_get(own, "rss_kib");
    const char *asked = member_text(own, "asked");
    const char *who = member_text(json_object_get(own, "who"), "username");

    buffer_text(out, "<header>");
    if (cell->count)
        buffer_format(out, "[%lld]", (long long) cell->count);
    else
        buffer_text(out, "[ ]");
    if (*status) {
        buffer_text(out, " · ");
        page_text_line(status, WHO_MAX, out);
    }
    if (json_is_number(duration))
        buffer_format(out, " · %.0f ms", json_number_value(duration));
    if (json_is_number(memory))
        buffer_format(out, " · %.0f MiB", json_number_value(memory) / 1024);
    if (strlen(asked) >= 19) {
        buffer_text(out, " · ");
        page_text((bytes_t){asked, 10}, out);
        buffer_text(out, " ");
        page_text((bytes_t){asked + 11, 8}, out);
    }
    if (*who) {
        buffer_text(out, " · ");
        page_text_line(who, WHO_MAX, out);
    }
    buffer_text(out, "</header>\n");
}

static void write_code(FILE *file, const notebook_cell_t *cell, buffer_t *out)
{
    json_t *own = json_object_get(cell->metadata, "hearth");
    const char *status = member_text(own, "status");
    const char *error = member_text(own, "ename");
    bool has_failed = *status && strcmp(status, "ok") != 0;
    const json_t *output;
    size_t index;

    if (json_is_true(json_object_get(own, NOTEBOOK_FRESH)))
        buffer_text(out, "<p class=\"banner\">A fresh kernel: the variables "
                         "are gone</p>\n");
    buffer_format(out, "<article%s>\n", has_failed ? " class=\"failed\"" : "");
    write_head(cell, *error ? error : status, out);
    buffer_text(out, "<pre class=\"code\">\n");
    page_text((bytes_t){cell->source, cell->source_size}, out);
    buffer_text(out, "</pre>\n");
    json_array_foreach(cell->outputs, index, output)
    {
        page_output(output, out);
        write_out(file, out);
    }
    buffer_text(out, "</article>\n");
}

static void write_cell(FILE *file, const notebook_cell_t *cell, size_t index)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) index;
    if (cell->kind == NOTEBOOK_CODE) {
        write_code(file, cell, &out);
    } else {
        buffer_text(&out, "<p class=\"banner\">");
        page_text((bytes_t){cell->source, cell->source_size}, &out);
        buffer_text(&out, "</p>\n");
    }
    write_out(file, &out);
}

static void write_remark(const char *before, const char *text, buffer_t *out)
{
    if (!*text)
        return;
    buffer_format(out, "<p>%s", before);
    page_text_line(text, TITLE_MAX, out);
    buffer_text(out, "</p>\n");
}

/* Lists what the session got from outside. */
static void write_downloads(const json_t *own, buffer_t *out)
{
    json_auto_t *lines = downloads_text(own);
    size_t index;
    json_t *line;

    json_array_foreach(lines, index, line)
        write_remark("From outside: ", json_string_value(line), out);
}

static void end(FILE *file, json_t *metadata, size_t count)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_t *own = json_object_get(metadata, "hearth");

    buffer_text(&out, "<footer>\n");
    write_downloads(own, &out);
    write_remark("The recording is not whole: ", member_text(own, "damage"),
                 &out);
    write_remark("The session ended: ", member_text(own, "reason"), &out);
    write_remark("Session ", member_text(own, "session"), &out);
    buffer_format(&out,
                  "<p>%zu %s. Written by hearth, without what could act: "
                  "scripts, links, and files of other places.</p>\n"
                  "</footer>\n</main>\n</body>\n</html>\n",
                  count, count == 1 ? "cell" : "cells");
    write_out(file, &out);
}

const notebook_writer_t page_writer = {begin, write_cell, end};
