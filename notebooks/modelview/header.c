/* See header.h. Names of errors and variables come from the session: of them
 * only what a name can have is written, so that none ends the line or adds a
 * part to it. */
#include "notebooks/modelview/header.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "notebooks/modelview/line_cut.h"
#include "notebooks/modelview/plain_line.h"
#include "notebooks/modelview/short_id.h"
#include "notebooks/modelview/traceback.h"

#include <ctype.h>
#include <string.h>

#define NAME_MAX_BYTES 60  /* of a name */
#define NAMES_MAX      12  /* of a difference */
#define LOST_MAX       30  /* of the variables that are gone */
#define LAST_LINE_MAX  120 /* bytes of the last line so far */
#define CAUSE_MAX      300 /* bytes of the sentence about a loss */

/* Appends a name from the session: ASCII letters, digits, _ and ., and what is
 * past U+024F without the signs of U+2000 to U+2BFF. */
static void write_name(buffer_t *out, const char *name)
{
    const char *end = name + strlen(name);
    size_t limit = out->size + NAME_MAX_BYTES;

    while (name < end && out->size < limit) {
        uint32_t code;
        size_t size = utf8_decode(name, end, &code);
        if (size == 0)
            return;
        if (code < 128 ? isalnum((int) code) || code == '_' || code == '.'
                       : code > 0x24F && (code < 0x2000 || code > 0x2BFF)
                             && code < 0xE000)
            buffer_append(out, name, size);
        name += size;
    }
}

/* Appends a text on one line, without what controls a terminal. */
static void write_line(buffer_t *out, bytes_t text, size_t max)
{
    cleanup_plain_line plain_line_t lines;

    plain_line_init(&lines, text.bytes, text.size);
    if (plain_line_next(&lines))
        line_cut_middle(out, lines.line, max);
}

static void write_duration(buffer_t *out, int64_t us)
{
    if (us < 0)
        return;
    if (us < 950)
        buffer_format(out, " %.1f ms", (double) us / 1e3);
    else if (us < 999500)
        buffer_format(out, " %lld ms", (long long) (us + 500) / 1000);
    else if (us < 9950000)
        buffer_format(out, " %.1f s", (double) us / 1e6);
    else if (us < 599500000)
        buffer_format(out, " %lld s", (long long) (us + 500000) / 1000000);
    else
        buffer_format(out, " %lld min", (long long) (us / 60000000));
}

static void write_status(buffer_t *out, const modelview_cell_t *cell)
{
    static const char *const words[] = {
        [MODELVIEW_OK] = "ok",
        [MODELVIEW_QUEUED] = "QUEUED",
        [MODELVIEW_RUNNING] = "RUNNING",
        [MODELVIEW_ASKING] = "WAITS FOR INPUT",
        [MODELVIEW_TIMEOUT] = "TIMEOUT interrupted",
        [MODELVIEW_LOST] = "STATE LOST",
    };
    size_t before = out->size;

    if (cell->status != MODELVIEW_ERROR) {
        buffer_text(out, words[cell->status]);
        return;
    }
    const char *name = json_string_value(json_object_get(cell->reply, "ename"));
    write_name(out, name ? name : "");
    if (out->size == before)
        buffer_text(out, "Error");
}

/* --- The difference of variables --- */

static void write_names(buffer_t *out, const json_t *list, const char *sign,
                        size_t *count)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        const char *name =
            json_is_string(item)
                ? json_string_value(item)
                : json_string_value(json_object_get(item, "name"));
        if (!name)
            continue;
        if ((*count)++ < NAMES_MAX) {
            buffer_text(out, *count == 1 ? " · " : " ");
            buffer_text(out, sign);
            write_name(out, name);
        }
    }
}

static void write_difference(buffer_t *out, const json_t *difference)
{
    const json_int_t more =
        json_integer_value(json_object_get(difference, "more"));
    size_t count = 0;

    write_names(out, json_object_get(difference, "appeared"), "+", &count);
    write_names(out, json_object_get(difference, "changed"), "~", &count);
    write_names(out, json_object_get(difference, "went"), "-", &count);
    if (more > 0 && more < 1000000)
        count += (size_t) more;
    if (count > NAMES_MAX)
        buffer_format(out, " and %zu more", count - NAMES_MAX);
}

/* --- The state --- */

static void write_gone(buffer_t *out, const json_t *names, size_t more)
{
    size_t listed = json_array_size(names), count = listed + more;

    if (!listed && more)
        buffer_format(out, "; %zu variable%s gone", more, more > 1 ? "s" : "");
    if (!listed)
        return;
    buffer_text(out, count == 1 ? "; variable" : "; variables");
    for (size_t i = 0; i < listed && i < LOST_MAX; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        buffer_text(out, " ");
        write_name(out, name ? name : "");
    }
    if (listed > LOST_MAX)
        listed = LOST_MAX;
    if (count > listed)
        buffer_format(out, " and %zu more", count - listed);
    buffer_text(out, " gone");
}

void header_write_lost(const modelview_loss_t *loss, buffer_t *out)
{
    write_gone(out, loss->names, loss->more);
    if (loss->is_incomplete)
        buffer_text(out,
                    "; the journal is damaged, so not all names are known");
    if (loss->is_reviving)
        buffer_text(out, "; being revived");
    buffer_text(out, loss->are_files_kept ? "; files kept" : "; files gone");
}

static void write_end(buffer_t *out, const modelview_loss_t *loss)
{
    char time[CLOCK_ISO_SIZE];

    buffer_text(out, "kernel ended");
    if (loss->wall_us) {
        clock_iso(loss->wall_us, time);
        buffer_format(out, " %.8sZ", time + strlen("2026-01-02T"));
    }
    if (loss->cause && *loss->cause) {
        buffer_text(out, " (");
        write_line(out, text_bytes(loss->cause), CAUSE_MAX);
        buffer_text(out, ")");
    }
    header_write_lost(loss, out);
}

void header_write_loss(const modelview_loss_t *loss, buffer_t *out)
{
    buffer_text(out, "STATE LOST: ");
    write_end(out, loss);
}

static void write_loss(buffer_t *out, const modelview_cell_t *cell)
{
    buffer_text(out, " · ");
    if (cell->status == MODELVIEW_LOST)
        write_end(out, cell->loss);
    else
        header_write_loss(cell->loss, out);
}

/* Names the error whose traceback a cell has shown that ended well, as %run
 * does of a script that fails. */
static void write_shown_error(buffer_t *out, const modelview_cell_t *cell)
{
    size_t number = traceback_last(cell->outputs);
    const json_t *error =
        number ? json_array_get(cell->outputs, number - 1) : NULL;
    const char *name = json_string_value(json_object_get(error, "ename"));

    if (!error || cell->status != MODELVIEW_OK)
        return;
    buffer_text(out, " · shows the traceback of ");
    write_name(out, name && *name ? name : "Error");
}

/* --- What a cell that goes on has shown --- */

/* Counts the lines of the outputs and finds the last one that is not empty. */
static size_t count_lines(const json_t *outputs, buffer_t *ret_last)
{
    size_t count = 0, i;
    json_t *output;

    json_array_foreach(outputs, i, output)
    {
        const json_t *text = json_object_get(output, "text");
        cleanup_plain_line plain_line_t lines = {0};
        if (!json_is_string(text))
            continue;
        plain_line_init(&lines, json_string_value(text),
                        json_string_length(text));
        while (plain_line_next(&lines)) {
            count++;
            if (lines.line.size && json_array_size(outputs) - i <= 8) {
                buffer_clear(ret_last);
                line_cut_middle(ret_last, lines.line, LAST_LINE_MAX);
            }
        }
    }
    return count;
}

static void write_progress(buffer_t *out, const json_t *outputs)
{
    cleanup_buffer buffer_t last = BUFFER_EMPTY;
    size_t count = count_lines(outputs, &last);

    if (!count)
        return;
    buffer_text(out, " · ");
    line_cut_number(out, count);
    buffer_text(out, count == 1 ? " line" : " lines");
    if (last.size) {
        buffer_text(out, ", last: ");
        buffer_append(out, last.data, last.size);
    }
}

void header_write(const modelview_cell_t *cell, buffer_t *out)
{
    const char *session = cell->reading.session;
    char id[SHORT_ID_SIZE];

    if (cell->cell > 0)
        buffer_format(out, "[%lld] ", cell->cell);
    else
        buffer_text(out, "[-] ");
    write_status(out, cell);
    write_duration(out, cell->duration_us);
    buffer_text(out, " · session ");
    buffer_text(out, session ? short_id_write(session, id) : "-");
    if (cell->is_new_session)
        buffer_text(out, " (new)");
    if (cell->loss)
        write_loss(out, cell);
    else if (cell->status == MODELVIEW_ERROR
             || cell->status == MODELVIEW_TIMEOUT)
        buffer_text(out, " · state kept");
    write_shown_error(out, cell);
    write_difference(out, cell->namespace);
    if (cell->status == MODELVIEW_RUNNING)
        write_progress(out, cell->outputs);
    if (cell->hint) {
        buffer_text(out, " · ");
        buffer_text(out, cell->hint);
    }
}
