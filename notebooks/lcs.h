/* Two rows of things laid side by side: which belong together, in order, so
 * that as much as possible fits (longest common subsequence, weighted). */
#ifndef HEARTH_NOTEBOOKS_LCS_H
#define HEARTH_NOTEBOOKS_LCS_H

#include <stddef.h>

/* How well left[i] and right[k] fit; 0: they do not belong together. */
typedef unsigned lcs_score_fn(void *arg, size_t left, size_t right);

#define LCS_EQUAL 1000 /* nothing fits better */

/* One step of the result; a side that has nothing is LCS_NONE. */
#define LCS_NONE ((size_t) -1)
typedef struct {
    size_t left;
    size_t right;
} lcs_pair_t;

/* All of both, in order; left + right pairs at most, the caller's. Where the
 * rows are too long to try everything (4 million pairs after what is equal at
 * both ends) the middle is paired place by place. */
lcs_pair_t *lcs_rows(size_t left, size_t right, lcs_score_fn *score, void *arg,
                     size_t *ret_count);

#endif
