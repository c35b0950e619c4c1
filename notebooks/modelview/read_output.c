/* More of one output: lines of it by number, or those that match. Lines are
 * counted as the view counts them, before equal ones are folded. */
#include "notebooks/modelview/bundle.h"
#include "notebooks/modelview/line_cut.h"
#include "notebooks/modelview/line_pattern.h"
#include "notebooks/modelview/plain_line.h"
#include "notebooks/modelview/token_weight.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#define TOKENS_MIN    50
#define STEPS_MAX     60000000 /* of a search: less than a second */
#define LINE_READ_MAX 2000     /* bytes of a line that is read */

typedef struct {
    const modelview_range_t *range; /* borrowed */
    line_pattern_t *pattern;        /* owned, or NULL */
    buffer_t lines;                 /* owned; what is shown */
    size_t weight, weight_max;      /* of them, see token_weight.h */
    line_count_t first, last;       /* lines that are shown; 0: none yet */
    line_count_t shown;             /* how many */
    line_count_t next;              /* where to go on; 0: nothing is left */
    line_count_t total;             /* lines in all */
    bool is_too_slow;               /* the search was given up at `next` */
} reading_t;

static void clear_reading(reading_t *self)
{
    line_pattern_destroy(&self->pattern);
    buffer_reset(&self->lines);
}

bool modelview_read_ref(const char *text, long long *ret_cell,
                        size_t *ret_output)
{
    char *end;
    unsigned long long cell, output;

    if (strncmp(text, "out:", 4) == 0)
        text += 4;
    if (!isdigit((unsigned char) *text))
        return false;
    errno = 0;
    cell = strtoull(text, &end, 10);
    if (*end != '.' || !isdigit((unsigned char) end[1]) || errno
        || cell > INT32_MAX)
        return false;
    output = strtoull(end + 1, &end, 10);
    if (*end || errno || output > INT32_MAX)
        return false;
    *ret_cell = (long long) cell;
    *ret_output = (size_t) output;
    return true;
}

bool modelview_read_process_ref(const char *text, uint64_t *ret_number)
{
    static const char prefix[] = "process:";
    const size_t size = sizeof prefix - 1;
    char *end;
    unsigned long long number;

    if (strncmp(text, prefix, size) != 0
        || !isdigit((unsigned char) text[size]))
        return false;
    errno = 0;
    number = strtoull(text + size, &end, 10);
    if (*end || errno || number > INT64_MAX)
        return false;
    *ret_number = number;
    return true;
}

/* Writes the text of an error: its traceback, every frame of it. */
static void write_error(const json_t *error, buffer_t *out)
{
    const json_t *list = json_object_get(error, "traceback");
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            continue;
        buffer_append(out, json_string_value(item), json_string_length(item));
        buffer_text(out, "\n");
    }
}

/* Shows a line, with its number if not all lines are shown. */
static void show_line(reading_t *self, bytes_t line)
{
    if (self->lines.size)
        buffer_text(&self->lines, "\n");
    if (self->pattern)
        buffer_format(&self->lines, "%llu: ", self->total);
    if (line.size <= LINE_CUT_LINE_MAX || self->pattern)
        line_cut_show(&self->lines, line);
    else
        line_cut_middle(&self->lines, line, LINE_READ_MAX);
    if (!self->shown++)
        self->first = self->total;
    self->last = self->total;
}

static bool is_wanted(reading_t *self, bytes_t line)
{
    if (self->next || self->total < self->range->from_line)
        return false;
    if (!self->pattern)
        return true;
    if (line_pattern_steps(self->pattern) > STEPS_MAX) {
        self->is_too_slow = true;
        self->next = self->total;
        return false;
    }
    return line_pattern_finds(self->pattern, line);
}

/* Counts a line among those that are shown; false if it is too much, unless it
 * is the first one. */
static bool fits(reading_t *self, bytes_t line)
{
    if (line.size > LINE_READ_MAX)
        line.size = LINE_READ_MAX;
    self->weight += token_weight(line) + NEWLINE_WEIGHT;
    return !self->shown || self->weight <= self->weight_max;
}

static void read_lines(reading_t *self, bytes_t text)
{
    cleanup_plain_line plain_line_t lines;
    line_count_t lines_max = self->range->lines;

    plain_line_init(&lines, text.bytes, text.size);
    while (plain_line_next(&lines)) {
        self->total++;
        if (!is_wanted(self, lines.line))
            continue;
        if ((lines_max && self->shown == lines_max) || !fits(self, lines.line))
            self->next = self->total;
        else
            show_line(self, lines.line);
    }
}

/* Writes "out:6.1 lines 213 to 412 of 10,000:". */
static void write_answer(const reading_t *self, const char *ref, buffer_t *out)
{
    buffer_format(out, "%s ", ref);
    if (self->pattern) {
        line_cut_number(out, self->shown);
        buffer_text(out, self->shown == 1 ? " line matches" : " lines match");
    } else if (self->shown) {
        buffer_text(out, "lines ");
        line_cut_number(out, self->first);
        buffer_text(out, " to ");
        line_cut_number(out, self->last);
    } else if (self->range->from_line > self->total) {
        buffer_text(out, "no line ");
        line_cut_number(out, self->range->from_line);
    } else {
        buffer_text(out, "no lines");
    }
    buffer_text(out, " of ");
    line_cut_number(out, self->total);
    if (self->next) {
        if (self->is_too_slow)
            buffer_text(out, ", the search took too long");
        buffer_text(out, "; go on with ");
        read_hint_from_line(self->range->way, self->next, out);
    }
    if (self->lines.size) {
        buffer_text(out, "\n");
        buffer_append(out, self->lines.data, self->lines.size);
    }
}

/* Finds the text of the output; false if it has none. */
static bool find_text(const json_t *output, bundle_t *bundle, buffer_t *error)
{
    const char *type =
        json_string_value(json_object_get(output, "output_type"));

    if (type && strcmp(type, "error") == 0) {
        write_error(output, error);
        bundle->text = buffer_bytes(error);
        return true;
    }
    return bundle_choose(output, bundle) && !bundle->mime;
}

static int read_text(bytes_t text, const char *ref,
                     const modelview_range_t *range, buffer_t *out)
{
    CLEANUP(clear_reading) reading_t self = {.range = range};
    size_t tokens = range->tokens_max ? range->tokens_max : MODELVIEW_TOKENS;
    const char *flaw = NULL;

    if (tokens > MODELVIEW_TOKENS_MAX)
        tokens = MODELVIEW_TOKENS_MAX;
    self.weight_max = TOKEN_WEIGHT(tokens < TOKENS_MIN ? TOKENS_MIN : tokens);
    if (range->grep && *range->grep
        && !(self.pattern = line_pattern_new(range->grep, &flaw))) {
        buffer_format(out, "grep is not a regular expression: %s", flaw);
        return -EINVAL;
    }
    read_lines(&self, text);
    write_answer(&self, ref, out);
    return 0;
}

int modelview_read_output(const json_t *outputs, long long cell, size_t output,
                          const modelview_range_t *range, buffer_t *out)
{
    cleanup_bundle bundle_t bundle = {0};
    cleanup_buffer buffer_t error = BUFFER_EMPTY;
    cleanup_free char *ref = mem_format("out:%lld.%zu", cell, output);
    size_t count = json_array_size(outputs);

    if (output == 0 || output > count) {
        buffer_format(out, "there is no %s: cell %lld has %zu outputs", ref,
                      cell, count);
        return -ENOENT;
    }
    if (!find_text(json_array_get(outputs, output - 1), &bundle, &error)) {
        buffer_format(out, "%s has no text: it is %s", ref,
                      bundle.mime ? bundle.mime : "empty");
        return -ENOENT;
    }
    return read_text(bundle.text, ref, range, out);
}

int modelview_read_process(uint64_t number, bytes_t text, bytes_t gone,
                           const modelview_range_t *range, buffer_t *out)
{
    cleanup_free char *ref =
        mem_format("process:%llu", (unsigned long long) number);
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;
    int r = read_text(text, ref, range, &lines);

    if (r == 0)
        buffer_append(out, gone.bytes, gone.size);
    buffer_append(out, lines.data, lines.size);
    return r;
}
