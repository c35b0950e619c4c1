/* See traceback.h. IPython gives a list of texts: one for each frame, a line
 * for a title, the text of the error. A text that has no form known here is
 * taken as it is, so nothing is lost when that changes. */
#include "notebooks/modelview/traceback.h"

#include "notebooks/modelview/line_cut.h"
#include "notebooks/modelview/plain_line.h"
#include "notebooks/modelview/traceback_frame.h"

#include <stdbool.h>
#include <string.h>

#define EARLIER_VALUE_MAX                                                      \
    300               /* bytes of the text of an error that led to it          \
                       */
#define FRAME_MAX 240 /* bytes of a frame's line */
#define FINAL_MIN 300 /* bytes of the last error's text at least */

typedef enum {
    STEP_OWN,     /* a frame of the session's own code */
    STEP_LIBRARY, /* a frame of anything else */
    STEP_CHAIN,   /* what joins two errors */
    STEP_VALUE,   /* an error's text, or a text of no known form */
} step_kind_t;

typedef struct {
    step_kind_t kind;
    char *text;      /* owned */
    unsigned folded; /* number of omitted library frames before it */
} traceback_step_t;

typedef struct {
    traceback_step_t *steps; /* owned */
    size_t count, room;
} steps_t;

static void clear_steps(steps_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->steps[i].text);
    free(self->steps);
}

static void add_step(steps_t *self, step_kind_t kind, buffer_t *text)
{
    traceback_step_t *last = self->count ? &self->steps[self->count - 1] : NULL;

    buffer_append(text, "", 0);
    if (last && last->kind == STEP_LIBRARY && kind == STEP_LIBRARY) {
        free(last->text);
        last->text = mem_copy(text->data, text->size);
        last->folded++;
        return;
    }
    if (self->count == self->room) {
        self->room = self->room ? self->room * 2 : 16;
        self->steps = mem_resize(self->steps, self->room * sizeof *last);
    }
    self->steps[self->count++] = (traceback_step_t){
        .kind = kind, .text = mem_copy(text->data, text->size)};
}

static void add_frame(steps_t *self, const traceback_frame_t *frame)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    bool is_foreign = traceback_frame_is_library(frame);
    bytes_t place = traceback_frame_path(frame);
    bytes_t function = frame->function;

    if (frame->is_cell)
        buffer_text(&text, "cell ");
    line_cut_middle(&text, place, FRAME_MAX / 2);
    buffer_text(&text, frame->is_cell ? " line " : ":");
    buffer_append(&text, frame->number.bytes, frame->number.size);
    if (is_foreign && function.size) {
        const char *arguments = memchr(function.bytes, '(', function.size);
        if (arguments)
            function.size =
                (size_t) (arguments - (const char *) function.bytes);
    }
    if (function.size) {
        buffer_text(&text, is_foreign ? " " : ", in ");
        line_cut_middle(&text, function, FRAME_MAX / 2);
    }
    if (!is_foreign && frame->code.size) {
        buffer_text(&text, ": ");
        line_cut_middle(&text, frame->code, FRAME_MAX);
    }
    add_step(self, is_foreign ? STEP_LIBRARY : STEP_OWN, &text);
}

/* --- The list --- */

static void add_text(steps_t *self, step_kind_t kind, const char *text)
{
    cleanup_buffer buffer_t copy = BUFFER_EMPTY;

    buffer_text(&copy, text);
    add_step(self, kind, &copy);
}

static void add_value(steps_t *self, bytes_t text)
{
    traceback_step_t *last = self->count ? &self->steps[self->count - 1] : NULL;
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;

    if (last && last->kind == STEP_VALUE) {
        buffer_text(&whole, last->text);
        buffer_text(&whole, "\n");
        free(last->text);
        self->count--;
    }
    buffer_append(&whole, text.bytes, text.size);
    add_step(self, STEP_VALUE, &whole);
}

static bool is_rule(bytes_t text)
{
    const char *bytes = text.bytes;

    for (size_t i = 0; i < text.size; i++)
        if (bytes[i] != '-')
            return false;
    return true;
}

static bool is_title(bytes_t text)
{
    static const char title[] = "Traceback (most recent call last)";
    const size_t size = sizeof title - 1;

    return text.size >= size && !memchr(text.bytes, '\n', text.size)
           && memcmp((const char *) text.bytes + text.size - size, title, size)
                  == 0;
}

static void add_item(steps_t *self, bytes_t text)
{
    traceback_frame_t frame;

    if (is_rule(text) || is_title(text))
        return;
    if (traceback_has_prefix(text, "The above exception was the direct cause"))
        add_text(self, STEP_CHAIN, "direct cause of:");
    else if (traceback_has_prefix(text,
                                  "During handling of the above exception"))
        add_text(self, STEP_CHAIN, "while handling it:");
    else if (traceback_frame_read(text, &frame))
        add_frame(self, &frame);
    else
        add_value(self, text);
}

/* Adds the texts of the list, each without what controls a terminal. */
static void read_list(steps_t *self, const json_t *list)
{
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        cleanup_plain_line plain_line_t lines;
        const char *text = json_string_value(item);
        if (!text)
            continue;
        buffer_clear(&plain);
        plain_line_init(&lines, text, json_string_length(item));
        while (plain_line_next(&lines)) {
            if (plain.size)
                buffer_text(&plain, "\n");
            buffer_append(&plain, lines.line.bytes, lines.line.size);
        }
        bytes_t trimmed = plain.size ? traceback_trim(buffer_bytes(&plain))
                                     : (bytes_t){"", 0};
        if (trimmed.size)
            add_item(self, trimmed);
    }
}

/* --- The text --- */

static void show_value(buffer_t *out, const char *text, size_t max)
{
    cleanup_buffer buffer_t cut = BUFFER_EMPTY;
    const char *at, *end;

    line_cut_middle(&cut, text_bytes(text), max);
    if (!cut.size)
        return;
    at = (const char *) cut.data;
    end = at + cut.size;
    while (at <= end) {
        const char *stop = memchr(at, '\n', (size_t) (end - at));
        if (!stop)
            stop = end;
        buffer_text(out, "\n");
        line_cut_show(out, (bytes_t){at, (size_t) (stop - at)});
        at = stop + 1;
    }
}

static void show_step(buffer_t *out, const traceback_step_t *step,
                      const char *ref, size_t max)
{
    if (step->kind == STEP_VALUE) {
        show_value(out, step->text, max);
        return;
    }
    buffer_text(out, "\n");
    if (step->kind == STEP_CHAIN)
        buffer_text(out, step->text);
    else
        line_cut_show(out, text_bytes(step->text));
    if (step->folded)
        buffer_format(out, " (%u library frame%s left out; %s)", step->folded,
                      step->folded == 1 ? "" : "s", ref);
}

/* Ends with the last error's text: the traceback's end, or name and text. */
static void end_with_value(steps_t *self, const json_t *error)
{
    const char *name = json_string_value(json_object_get(error, "ename"));
    const json_t *value = json_object_get(error, "evalue");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_t *list;

    if (self->count && self->steps[self->count - 1].kind == STEP_VALUE)
        return;
    buffer_text(&text, name ? name : "Error");
    if (json_string_length(value)) {
        buffer_text(&text, ": ");
        buffer_append(&text, json_string_value(value),
                      json_string_length(value)); /* also after a NUL */
    }
    list =
        json_pack("[o]", json_stringn_nocheck((char *) text.data, text.size));
    read_list(self, list);
    json_decref(list);
    if (!self->count)
        add_text(self, STEP_VALUE, "Error");
}

void traceback_fold(const json_t *error, const char *ref,
                    const read_hint_t *hint, size_t max, buffer_t *out)
{
    CLEANUP(clear_steps) steps_t self = {0};
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    size_t final_max, used, first;

    read_list(&self, json_object_get(error, "traceback"));
    end_with_value(&self, error);
    final_max = max < TRACEBACK_VALUE_MAX ? max : TRACEBACK_VALUE_MAX;
    if (final_max < FINAL_MIN)
        final_max = FINAL_MIN;
    show_step(&line, &self.steps[self.count - 1], ref, final_max);
    used = line.size;
    for (first = self.count - 1; first > 0; first--) {
        buffer_clear(&line);
        show_step(&line, &self.steps[first - 1], ref, EARLIER_VALUE_MAX);
        if (used + line.size > max)
            break;
        used += line.size;
    }
    if (first) {
        buffer_format(out, "\n… %zu steps before these left out: ", first);
        read_hint_write(hint, ref, 1, out);
        buffer_text(out, " …");
    }
    for (; first < self.count - 1; first++)
        show_step(out, &self.steps[first], ref, EARLIER_VALUE_MAX);
    show_step(out, &self.steps[self.count - 1], ref, final_max);
}

static bool is_error(const json_t *output)
{
    const char *type =
        json_string_value(json_object_get(output, "output_type"));

    return type && strcmp(type, "error") == 0;
}

size_t traceback_last(const json_t *outputs)
{
    size_t number = json_array_size(outputs);

    while (number && !is_error(json_array_get(outputs, number - 1)))
        number--;
    return number;
}
