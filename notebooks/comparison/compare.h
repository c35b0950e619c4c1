/* Compares the outputs of two runs of a cell. Parts that differ between any two
 * runs and mean nothing are taken out before: memory addresses, times and
 * durations, random ids, colours. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_COMPARE_H
#define HEARTH_NOTEBOOKS_COMPARISON_COMPARE_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    double
        relative; /* how far apart numbers with a fraction may be: this ... */
    double absolute; /* ... times the bigger one, or this */
    bool is_exact;   /* nothing is taken out, all texts are equal or not */
} compare_t;

#define COMPARE_DEFAULT ((compare_t){.relative = 1e-5, .absolute = 1e-8})

/* The first thing that differs. */
typedef struct {
    char *what;  /* owned; "stdout", a MIME type, "error" ...; NULL: nothing */
    char *left;  /* owned; what the first has there, shortened */
    char *right; /* owned; what the second has */
} difference_t;

void difference_clear(difference_t *self);
#define cleanup_difference CLEANUP(difference_clear)

/* Returns true if two lists of nbformat 4 outputs show the same; their texts
 * are in one piece (notebook_cell_t). If not, *ret_difference is the first
 * difference, for the caller to clear. */
bool compare_outputs(const compare_t *self, const json_t *left,
                     const json_t *right, difference_t *ret_difference);
bool compare_text(const compare_t *self, const char *left, size_t left_size,
                  const char *right, size_t right_size);

/* Appends the text without the parts that differ from run to run (normal.c). */
void normal_text(const char *text, size_t size, buffer_t *out);

#endif
