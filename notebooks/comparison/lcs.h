/* Pairs the items of two rows, in order, so that the sum of scores is as large
 * as possible (longest common subsequence, weighted). */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_LCS_H
#define HEARTH_NOTEBOOKS_COMPARISON_LCS_H

#include <stddef.h>

/* Returns how well left[i] and right[k] fit; 0: they cannot be paired. */
typedef unsigned lcs_score_fn(void *arg, size_t left, size_t right);

#define LCS_EQUAL 1000 /* nothing fits better */

/* One step of the result; a side that has nothing is LCS_NONE. */
#define LCS_NONE ((size_t) -1)
typedef struct {
    size_t left;
    size_t right;
} lcs_pair_t;

/* Returns all items of both rows, in order: left + right pairs at most, owned
 * by the caller. Rows with more than 4 million pairs between their equal ends
 * are paired place by place in the middle. */
lcs_pair_t *lcs_rows(size_t left, size_t right, lcs_score_fn *score, void *arg,
                     size_t *ret_count);

#endif
