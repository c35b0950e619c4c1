/* See diff.h. Two cells are paired if their sources are equal or similar, or if
 * they have the same id. So a cell that was added or removed moves no other. */
#include "notebooks/comparison/diff.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/comparison/lcs.h"
#include "notebooks/json/member.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX  512 /* of a source, that are looked at */
#define ALIKE_MIN  500 /* of 1000: less is another cell */
#define SCORE_SAME 900 /* equal source, another id */
#define SCORE_ID   300 /* equal id, another source */

/* The words of a source, as sorted hashes. */
typedef struct {
    uint32_t *words; /* owned */
    size_t count;    /* of them */
} words_t;

typedef struct {
    const notebook_t *left;
    const notebook_t *right;
    words_t *left_words;
    words_t *right_words;
} cell_pairs_t;

static int by_value(const void *left, const void *right)
{
    const uint32_t *a = left;
    const uint32_t *b = right;

    return (*a > *b) - (*a < *b);
}

static words_t find_words(const notebook_cell_t *cell)
{
    words_t self = {.words = mem_new(WORDS_MAX * sizeof *self.words)};
    uint32_t hash = 2166136261u;
    bool is_word = false;

    for (size_t i = 0; i <= cell->source_size && self.count < WORDS_MAX; i++) {
        unsigned char c = (unsigned char) cell->source[i];
        bool goes_on = i < cell->source_size && (isalnum(c) || c == '_');
        if (goes_on)
            hash = (hash ^ c) * 16777619u;
        else if (is_word)
            self.words[self.count++] = hash;
        if (!goes_on)
            hash = 2166136261u;
        is_word = goes_on;
    }
    qsort(self.words, self.count, sizeof *self.words, by_value);
    self.words = mem_resize(self.words, (self.count + 1) * sizeof *self.words);
    return self;
}

static words_t *find_all_words(const notebook_t *notebook)
{
    words_t *all = mem_new((notebook->count + 1) * sizeof *all);

    for (size_t i = 0; i < notebook->count; i++)
        all[i] = find_words(&notebook->cells[i]);
    return all;
}

static void free_words(words_t *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(all[i].words);
    free(all);
}

/* Returns how many of all words both have, in 1/1000. */
static unsigned likeness(const words_t *left, const words_t *right)
{
    size_t common = 0;

    for (size_t i = 0, k = 0; i < left->count && k < right->count;) {
        if (left->words[i] == right->words[k]) {
            common++;
            i++;
            k++;
        } else if (left->words[i] < right->words[k])
            i++;
        else
            k++;
    }
    if (!common)
        return 0;
    return (unsigned) (2000 * common / (left->count + right->count));
}

static bool same_source(const notebook_cell_t *left,
                        const notebook_cell_t *right)
{
    return left->source_size == right->source_size
           && memcmp(left->source, right->source, left->source_size) == 0;
}

static unsigned score_cells(void *arg, size_t i, size_t k)
{
    cell_pairs_t *cells = arg;
    const notebook_cell_t *left = &cells->left->cells[i];
    const notebook_cell_t *right = &cells->right->cells[k];
    bool same_id = strcmp(left->id, right->id) == 0;

    if (left->kind != right->kind)
        return 0;
    if (same_source(left, right))
        return same_id ? LCS_EQUAL : SCORE_SAME;
    unsigned alike =
        likeness(&cells->left_words[i], &cells->right_words[k]) * 8 / 10;
    if (alike < ALIKE_MIN * 8 / 10)
        alike = 0;
    return same_id && alike < SCORE_ID ? SCORE_ID : alike;
}

/* ---- lines of a source ---- */

typedef struct {
    const char *at;
    size_t size;
} text_line_t;

typedef struct {
    text_line_t *left;  /* owned */
    text_line_t *right; /* owned */
} lines_t;

static text_line_t *split(const notebook_cell_t *cell, size_t *ret_count)
{
    const char *at = cell->source;
    const char *end = at + cell->source_size;
    size_t count = 0;
    size_t room = 16;
    text_line_t *lines = mem_new(room * sizeof *lines);

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t) (end - at));
        if (count == room)
            lines = mem_resize(lines, (room *= 2) * sizeof *lines);
        lines[count++] = (text_line_t){at, (size_t) ((stop ? stop : end) - at)};
        at = stop ? stop + 1 : end;
    }
    *ret_count = count;
    return lines;
}

static unsigned score_lines(void *arg, size_t i, size_t k)
{
    lines_t *lines = arg;
    text_line_t left = lines->left[i];
    text_line_t right = lines->right[k];

    return left.size == right.size && memcmp(left.at, right.at, left.size) == 0
               ? LCS_EQUAL
               : 0;
}

static void add_line(json_t *list, const char *sign, text_line_t line)
{
    json_array_append_new(list, json_pack("[s, s%]", sign, line.at, line.size));
}

/* Returns the lines of both sources: ["-", line], ["+", line], [" ", line] ...
 */
static json_t *diff_source(const notebook_cell_t *left,
                           const notebook_cell_t *right)
{
    size_t left_count, right_count, count;
    lines_t lines = {.left = split(left, &left_count),
                     .right = split(right, &right_count)};
    cleanup_free lcs_pair_t *pairs =
        lcs_rows(left_count, right_count, score_lines, &lines, &count);
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        if (pairs[i].left == LCS_NONE)
            add_line(list, "+", lines.right[pairs[i].right]);
        else
            add_line(list, pairs[i].right == LCS_NONE ? "-" : " ",
                     lines.left[pairs[i].left]);
    }
    free(lines.left);
    free(lines.right);
    return list;
}

/* ---- cells ---- */

/* Returns the milliseconds between two times of metadata.execution, or NULL;
 * they are the newest that a cell has: whatever ran it last wrote them. */
static json_t *executed_ms(const notebook_cell_t *cell)
{
    json_t *times = json_object_get(cell->metadata, "execution");
    const char *begun = member_text(times, "iopub.execute_input");
    const char *done = member_text(times, "shell.execute_reply");
    int64_t begun_us, done_us;

    if (!clock_read_iso(begun, &begun_us) || !clock_read_iso(done, &done_us)
        || done_us < begun_us)
        return NULL;
    return json_real((double) (done_us - begun_us) / 1e3);
}

static json_t *describe_cell(const notebook_cell_t *cell, size_t index)
{
    json_t *place =
        json_pack("{s:I, s:s}", "cell", (json_int_t) index + 1, "id", cell->id);
    json_t *duration = notebook_cell_note(cell, "duration_ms");
    json_t *executed = executed_ms(cell);

    if (cell->count)
        json_object_set_new(place, "execution_count",
                            json_integer(cell->count));
    if (executed)
        json_object_set_new(place, "duration_ms", executed);
    else if (json_is_number(duration))
        json_object_set(place, "duration_ms", duration);
    return place;
}

static json_t *diff_outputs(const compare_t *compare,
                            const notebook_cell_t *left,
                            const notebook_cell_t *right)
{
    cleanup_difference difference_t difference = {0};

    if (compare_outputs(compare, left->outputs, right->outputs, &difference))
        return NULL;
    return json_pack("{s:s, s:s*, s:s*}", "what", difference.what, "left",
                     difference.left, "right", difference.right);
}

static json_t *diff_pair(const compare_t *compare, notebook_cell_t *left,
                         notebook_cell_t *right)
{
    bool is_source = same_source(left, right);

    notebook_cell_load(left);
    notebook_cell_load(right);
    json_t *outputs = diff_outputs(compare, left, right);
    notebook_cell_unload(left);
    notebook_cell_unload(right);
    json_t *cell = json_pack("{s:s}", "change",
                             is_source && !outputs ? "same" : "changed");

    if (!is_source)
        json_object_set_new(cell, "source", diff_source(left, right));
    if (outputs)
        json_object_set_new(cell, "outputs", outputs);
    return cell;
}

/* Describes a cell that was removed or added: the other argument is NULL. */
static json_t *diff_single(const notebook_cell_t *left,
                           const notebook_cell_t *right)
{
    char empty[] = "";
    const notebook_cell_t nothing = {.source = empty};

    return json_pack(
        "{s:s, s:o}", "change", left ? "removed" : "added", "source",
        diff_source(left ? left : &nothing, right ? right : &nothing));
}

static json_t *diff_step(const compare_t *compare, const cell_pairs_t *cells,
                         lcs_pair_t pair)
{
    notebook_cell_t *left =
        pair.left == LCS_NONE ? NULL : &cells->left->cells[pair.left];
    notebook_cell_t *right =
        pair.right == LCS_NONE ? NULL : &cells->right->cells[pair.right];
    json_t *step = left && right ? diff_pair(compare, left, right)
                                 : diff_single(left, right);

    if (left)
        json_object_set_new(step, "left", describe_cell(left, pair.left));
    if (right)
        json_object_set_new(step, "right", describe_cell(right, pair.right));
    return step;
}

json_t *notebook_diff(const compare_t *compare, const notebook_t *left,
                      const notebook_t *right)
{
    cell_pairs_t cells = {left, right, find_all_words(left),
                          find_all_words(right)};
    size_t count;
    cleanup_free lcs_pair_t *pairs =
        lcs_rows(left->count, right->count, score_cells, &cells, &count);
    json_t *steps = json_array();
    bool is_same = true;

    for (size_t i = 0; i < count; i++) {
        json_t *step = diff_step(compare, &cells, pairs[i]);
        const char *change = json_string_value(json_object_get(step, "change"));
        is_same = is_same && strcmp(change, "same") == 0;
        json_array_append_new(steps, step);
    }
    free_words(cells.left_words, left->count);
    free_words(cells.right_words, right->count);
    return json_pack("{s:b, s:o}", "same", is_same, "cells", steps);
}
