/* Lines of one or more outputs, cut to a budget (token_weight.h). The first
 * lines and the last lines stay whole. A marker between them says how much is
 * left out and how to read it. Equal lines in a row are one line with their
 * number. A line that looks like one of hearth's own gets a mark before it. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_LINE_CUT_H
#define HEARTH_NOTEBOOKS_MODELVIEW_LINE_CUT_H

#include "base/buffer.h"
#include "notebooks/modelview/read_hint.h"

#include <stdbool.h>
#include <stddef.h>

#define LINE_CUT_LINE_MAX 500 /* characters of a line, about */

typedef unsigned long long line_count_t;

/* A line, or several equal ones in a row. */
typedef struct {
    bytes_t text;        /* lent by the output, or `copy` */
    char *copy;          /* owned, or NULL */
    line_count_t number; /* of the first of them, in its output; 1 is the
                            first */
    line_count_t times;  /* that the line comes; 0: there is no line */
    size_t output;       /* of which it is; 1 is the first */
    bool is_own;         /* hearth says it, not the output */
} line_cut_line_t;

typedef struct {
    size_t head_max, tail_max; /* weights of tokens */
    buffer_t head;             /* owned; the first lines, as they are shown */
    size_t head_weight;        /* of them */
    line_cut_line_t pending;   /* the last line, which may be repeated */
    line_cut_line_t *tail;     /* owned; a ring of lines */
    size_t tail_first, tail_count, tail_room;
    size_t tail_size;  /* bytes of it, as it is shown: a weight is no less */
    bool is_head_full; /* the next line goes to the tail */
    line_count_t left_out;             /* lines */
    unsigned long long left_out_bytes; /* of them */
    line_cut_line_t first_left_out;    /* without its text */
    size_t last_left_out;              /* its output */
} line_cut_t;

void line_cut_init(line_cut_t *self, size_t weight_max);
void line_cut_clear(line_cut_t *self);
#define cleanup_line_cut CLEANUP(line_cut_clear)

/* Adds a text of an output. Lines of it are copied unless `is_lent`: the text
 * then lives as long as this. */
void line_cut_add(line_cut_t *self, size_t output, bytes_t text, bool is_lent);
/* Adds a line of hearth's own, which is copied. */
void line_cut_add_own(line_cut_t *self, size_t output, const char *line);
/* Appends what stays to *out, each line with a newline before it. `cell` is
 * part of the reference in the marker, which says how the rest is read. */
void line_cut_finish(line_cut_t *self, long long cell, const read_hint_t *hint,
                     buffer_t *out);

/* Appends a line that an output has shown: with a mark if it looks like one of
 * hearth's own, and cut in its middle if it is long. */
void line_cut_show(buffer_t *out, bytes_t line);
/* Appends the part of a longer text that fits, its beginning and its end, with
 * a remark between them. */
void line_cut_middle(buffer_t *out, bytes_t text, size_t max);
/* Appends a number with commas between thousands. */
void line_cut_number(buffer_t *out, unsigned long long number);
/* Appends bytes with a unit: "31 KB". */
void line_cut_size(buffer_t *out, unsigned long long bytes);

#endif
