/* See line_cut.h. The head is written at once. Of the later lines the last ones
 * are kept, as many as the budget has bytes, so memory is bounded. The end
 * weighs them, and leaves out what is too much. */
#include "notebooks/modelview/line_cut.h"

#include "base/utf8.h"
#include "notebooks/modelview/plain_line.h"
#include "notebooks/modelview/token_weight.h"

#include <stdio.h>
#include <string.h>

#define REPEAT_MIN  3    /* equal lines that become one */
#define REPEAT_COST 8    /* bytes of " ×512" */
#define CUT_COST    40   /* bytes of the remark in a line that is cut */
#define MARK        "| " /* before a line that looks like hearth's own */
#define LOOK_MAX    600  /* bytes of a line in which a look-alike is sought */

void line_cut_init(line_cut_t *self, size_t weight_max)
{
    *self = (line_cut_t){.head_max = weight_max * 4 / 10,
                         .tail_max = weight_max - weight_max * 4 / 10};
}

void line_cut_clear(line_cut_t *self)
{
    for (size_t i = 0; i < self->tail_count; i++)
        free(self->tail[(self->tail_first + i) % self->tail_room].copy);
    free(self->tail);
    free(self->pending.copy);
    buffer_reset(&self->head);
    *self = (line_cut_t){0};
}

/* --- What is shown of a line --- */

void line_cut_number(buffer_t *out, unsigned long long number)
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", number);

    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            buffer_text(out, ",");
        buffer_append(out, digits + i, 1);
    }
}

void line_cut_size(buffer_t *out, unsigned long long bytes)
{
    if (bytes < 1000)
        buffer_format(out, "%llu bytes", bytes);
    else if (bytes < 999500)
        buffer_format(out, "%llu KB", (bytes + 500) / 1000);
    else
        buffer_format(out, "%.1f MB", (double) bytes / 1e6);
}

void line_cut_middle(buffer_t *out, bytes_t text, size_t max)
{
    const char *begin = text.bytes;
    size_t head, tail;

    if (text.size <= max) {
        buffer_append(out, begin, text.size);
        return;
    }
    head = utf8_cut(begin, max / 2);
    tail = utf8_next(begin, text.size - (max - max / 2), text.size);
    buffer_append(out, begin, head);
    buffer_text(out, " …");
    line_cut_number(out, tail - head);
    buffer_text(out, " bytes left out… ");
    buffer_append(out, begin + tail, text.size - tail);
}

static bool begins(const char *at, const char *end, const char *text)
{
    size_t size = strlen(text);

    return (size_t) (end - at) >= size && memcmp(at, text, size) == 0;
}

static bool contains(const char *at, const char *end, const char *text)
{
    return memmem(at, (size_t) (end - at), text, strlen(text)) != NULL;
}

/* Returns the first text of the list, which NULL ends, that the line begins
 * with; NULL if it begins with none of them. */
static const char *begins_any(const char *at, const char *end,
                              const char *const *list)
{
    while (*list && !begins(at, end, *list))
        list++;
    return *list;
}

/* Returns true if a reader could take the line for hearth's header, one of its
 * markers or an image. Blanks before it and brackets of other scripts do not
 * help a line that pretends. */
static bool looks_own(bytes_t line)
{
    static const char *const blanks[] = {
        " ",      "\t",     "\u00a0", "\u2002", "\u2003", "\u2007", "\u2009",
        "\u200a", "\u202f", "\u3000", "\u200c", "\u200d", NULL};
    static const char *const brackets[] = {"[",      "\uff3b", "\u3010",
                                           "\u3014", "\u27e6", NULL};
    static const char *const dots[] = {"\u2026", "...", "\u22ef", "\u2025",
                                       NULL};
    const char *at = line.bytes;
    const char *end = at + (line.size < LOOK_MAX ? line.size : LOOK_MAX);
    const char *blank;

    while ((blank = begins_any(at, end, blanks)))
        at += strlen(blank);
    if (begins_any(at, end, brackets))
        return contains(at, end, "session") || contains(at, end, "out:")
               || contains(at, end, "STATE") || contains(at, end, "image");
    if (begins_any(at, end, dots))
        return contains(at, end, "left out") || contains(at, end, "out:");
    return begins(at, end, "STATE LOST");
}

void line_cut_show(buffer_t *out, bytes_t line)
{
    if (line.size && looks_own(line))
        buffer_text(out, MARK);
    line_cut_middle(out, line, LINE_CUT_LINE_MAX);
}

static void show(buffer_t *out, const line_cut_line_t *line)
{
    line_count_t copies = line->times < REPEAT_MIN ? line->times : 1;

    for (line_count_t i = 0; i < copies; i++) {
        buffer_text(out, "\n");
        if (line->is_own)
            buffer_append(out, line->text.bytes, line->text.size);
        else
            line_cut_show(out, line->text);
    }
    if (line->times >= REPEAT_MIN)
        buffer_format(out, " ×%llu", line->times);
}

static size_t with_repeats(const line_cut_line_t *line, size_t size)
{
    return line->times < REPEAT_MIN ? size * line->times : size + REPEAT_COST;
}

static bool is_cut(const line_cut_line_t *line)
{
    return !line->is_own && line->text.size > LINE_CUT_LINE_MAX;
}

/* Returns the bytes that `show` appends, or a few more. */
static size_t shown_size(const line_cut_line_t *line)
{
    size_t size = is_cut(line) ? LINE_CUT_LINE_MAX + CUT_COST : line->text.size;

    return with_repeats(line, size + 1);
}

/* Returns the weight of what `show` appends, about. */
static size_t weight(const line_cut_line_t *line)
{
    const size_t half = LINE_CUT_LINE_MAX / 2;
    const char *text = line->text.bytes;
    size_t found;

    if (is_cut(line))
        found = token_weight((bytes_t){text, half})
                + token_weight((bytes_t){text + line->text.size - half, half})
                + CUT_COST;
    else
        found = token_weight(line->text);
    return with_repeats(line, found + NEWLINE_WEIGHT);
}

/* --- Which lines stay --- */

static void grow_tail(line_cut_t *self)
{
    size_t room = self->tail_room ? self->tail_room * 2 : 64;
    line_cut_line_t *tail = mem_new(room * sizeof *tail);

    for (size_t i = 0; i < self->tail_count; i++)
        tail[i] = self->tail[(self->tail_first + i) % self->tail_room];
    free(self->tail);
    self->tail = tail;
    self->tail_room = room;
    self->tail_first = 0;
}

static void leave_out(line_cut_t *self, line_cut_line_t *line)
{
    if (self->left_out == 0)
        self->first_left_out = *line;
    self->first_left_out.copy = NULL;
    self->last_left_out = line->output;
    self->left_out += line->times;
    self->left_out_bytes += (line->text.size + 1) * line->times;
    free(line->copy);
}

/* Leaves out the first line of the tail. */
static void shorten_tail(line_cut_t *self)
{
    line_cut_line_t *first = &self->tail[self->tail_first];

    self->tail_size -= shown_size(first);
    leave_out(self, first);
    self->tail_first = (self->tail_first + 1) % self->tail_room;
    self->tail_count--;
}

/* Leaves out what the last lines leave no room for. */
static void weigh_tail(line_cut_t *self)
{
    size_t total = 0, count = 0;

    while (count < self->tail_count) {
        size_t last = self->tail_first + self->tail_count - 1 - count;
        total += weight(&self->tail[last % self->tail_room]);
        if (total > self->tail_max)
            break;
        count++;
    }
    while (self->tail_count > count)
        shorten_tail(self);
}

/* Adds the line to the head. Returns false if the head has no room for it: it
 * then takes no further line either. */
static bool add_to_head(line_cut_t *self, const line_cut_line_t *line)
{
    size_t heavier = self->is_head_full ? 0 : self->head_weight + weight(line);

    self->is_head_full |= heavier > self->head_max;
    if (self->is_head_full)
        return false;
    self->head_weight = heavier;
    show(&self->head, line);
    return true;
}

/* Moves the pending line to the head or the tail. */
static void settle(line_cut_t *self)
{
    line_cut_line_t line = self->pending;

    self->pending = (line_cut_line_t){0};
    if (line.times == 0)
        return;
    if (add_to_head(self, &line)) {
        free(line.copy);
        return;
    }
    if (self->tail_count == self->tail_room)
        grow_tail(self);
    self->tail[(self->tail_first + self->tail_count++) % self->tail_room] =
        line;
    self->tail_size += shown_size(&line);
    while (self->tail_size > self->tail_max)
        shorten_tail(self);
}

static bool repeats(const line_cut_line_t *last, const line_cut_line_t *line)
{
    return last->times && !last->is_own && !line->is_own
           && last->output == line->output && last->text.size == line->text.size
           && memcmp(last->text.bytes, line->text.bytes, line->text.size) == 0;
}

static void add(line_cut_t *self, line_cut_line_t line, bool is_copied)
{
    if (repeats(&self->pending, &line)) {
        self->pending.times++;
        return;
    }
    settle(self);
    if (is_copied) {
        line.copy = mem_copy(line.text.bytes, line.text.size);
        line.text.bytes = line.copy;
    }
    line.times = 1;
    self->pending = line;
}

void line_cut_add(line_cut_t *self, size_t output, bytes_t text, bool is_lent)
{
    cleanup_plain_line plain_line_t lines;
    line_count_t number = 0;

    plain_line_init(&lines, text.bytes, text.size);
    while (plain_line_next(&lines)) {
        number++;
        add(self,
            (line_cut_line_t){
                .text = lines.line, .number = number, .output = output},
            lines.is_copy || !is_lent);
    }
}

void line_cut_add_own(line_cut_t *self, size_t output, const char *line)
{
    add(self,
        (line_cut_line_t){
            .text = text_bytes(line), .output = output, .is_own = true},
        true);
}

/* --- The marker --- */

static void mark(const line_cut_t *self, long long cell,
                 const read_hint_t *hint, buffer_t *out)
{
    const line_cut_line_t *first = &self->first_left_out;
    cleanup_free char *ref = mem_format("out:%lld.%zu", cell, first->output);

    buffer_text(out, "\n… ");
    line_cut_number(out, self->left_out);
    buffer_text(out, self->left_out == 1 ? " line (" : " lines (");
    line_cut_size(out, self->left_out_bytes);
    buffer_text(out, ")");
    if (self->last_left_out != first->output)
        buffer_format(out, " of %s to out:%lld.%zu", ref, cell,
                      self->last_left_out);
    buffer_text(out, " left out: ");
    read_hint_write(hint, ref, first->number, out);
    buffer_text(out, " …");
}

void line_cut_finish(line_cut_t *self, long long cell, const read_hint_t *hint,
                     buffer_t *out)
{
    settle(self);
    weigh_tail(self);
    buffer_append(out, self->head.data, self->head.size);
    if (self->left_out)
        mark(self, cell, hint, out);
    for (size_t i = 0; i < self->tail_count; i++)
        show(out, &self->tail[(self->tail_first + i) % self->tail_room]);
}
