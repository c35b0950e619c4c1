/* See lcs.h. */
#include "notebooks/comparison/lcs.h"

#include "base/buffer.h"

#include <stdbool.h>
#include <stdint.h>

#define TABLE_MAX (4u << 20)

typedef struct {
    lcs_score_fn *score;
    void *arg;
    size_t from_left;  /* where the middle begins */
    size_t from_right; /* on the other side */
    size_t left;       /* its size */
    size_t right;      /* on the other side */
    lcs_pair_t *pairs; /* owned; the result */
    size_t count;      /* of it */
} align_t;

static void put(align_t *self, size_t left, size_t right)
{
    self->pairs[self->count++] = (lcs_pair_t){left, right};
}

static unsigned score_of(align_t *self, size_t i, size_t k)
{
    return self->score(self->arg, self->from_left + i, self->from_right + k);
}

static void put_pair(align_t *self, size_t i, size_t k, bool is_pair)
{
    if (is_pair) {
        put(self, self->from_left + i, self->from_right + k);
        return;
    }
    if (i < self->left)
        put(self, self->from_left + i, LCS_NONE);
    if (k < self->right)
        put(self, LCS_NONE, self->from_right + k);
}

static void pair_by_place(align_t *self)
{
    size_t longer = self->left > self->right ? self->left : self->right;

    for (size_t i = 0; i < longer; i++)
        put_pair(self, i, i,
                 i < self->left && i < self->right && score_of(self, i, i));
}

/* Fills best[i][k]: the score that can be reached from there on to the ends. */
static void fill_table(align_t *self, uint32_t *best)
{
    size_t width = self->right + 1;

    for (size_t i = self->left; i-- > 0;) {
        for (size_t k = self->right; k-- > 0;) {
            unsigned score = score_of(self, i, k);
            uint32_t value = best[(i + 1) * width + k];
            uint32_t other = best[i * width + k + 1];
            uint32_t both = best[(i + 1) * width + k + 1] + score;
            if (value < other)
                value = other;
            if (score && value < both)
                value = both;
            best[i * width + k] = value;
        }
    }
}

/* Follows the table; of two equal ways it takes the left side's items first. */
static void follow_table(align_t *self, const uint32_t *best)
{
    size_t width = self->right + 1;
    size_t i = 0;
    size_t k = 0;

    while (i < self->left && k < self->right) {
        unsigned score = score_of(self, i, k);
        uint32_t here = best[i * width + k];
        if (score && here == best[(i + 1) * width + k + 1] + score)
            put(self, self->from_left + i++, self->from_right + k++);
        else if (here == best[(i + 1) * width + k])
            put(self, self->from_left + i++, LCS_NONE);
        else
            put(self, LCS_NONE, self->from_right + k++);
    }
    while (i < self->left)
        put(self, self->from_left + i++, LCS_NONE);
    while (k < self->right)
        put(self, LCS_NONE, self->from_right + k++);
}

static void align_middle(align_t *self)
{
    size_t size = (self->left + 1) * (self->right + 1);

    if (size / (self->right + 1) != self->left + 1 || size > TABLE_MAX) {
        pair_by_place(self);
        return;
    }
    cleanup_free uint32_t *best = mem_new(size * sizeof *best);
    fill_table(self, best);
    follow_table(self, best);
}

lcs_pair_t *lcs_rows(size_t left, size_t right, lcs_score_fn *score, void *arg,
                     size_t *ret_count)
{
    align_t self = {.score = score, .arg = arg};
    size_t shorter = left < right ? left : right;
    size_t tail = 0;

    self.pairs = mem_new((left + right + 1) * sizeof *self.pairs);
    while (self.count < shorter
           && score(arg, self.count, self.count) == LCS_EQUAL)
        put(&self, self.count, self.count);
    self.from_left = self.from_right = self.count;
    while (tail < shorter - self.from_left
           && score(arg, left - 1 - tail, right - 1 - tail) == LCS_EQUAL)
        tail++;
    self.left = left - self.from_left - tail;
    self.right = right - self.from_right - tail;
    align_middle(&self);
    for (; tail > 0; tail--)
        put(&self, left - tail, right - tail);
    *ret_count = self.count;
    return self.pairs;
}
