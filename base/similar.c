/* See similar.h. Optimal string alignment over three rows of the table. */
#include "base/similar.h"

#include <string.h>

#define WORD_MAX 63

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned similar_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    size_t a_size = strnlen(a, WORD_MAX), b_size = strnlen(b, WORD_MAX);
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];

    for (size_t j = 0; j <= b_size; j++)
        last[j] = (unsigned) j;
    for (size_t i = 1; i <= a_size; i++) {
        unsigned *freed = before;

        row[0] = (unsigned) i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = least(last[j - 1] + (a[i - 1] != b[j - 1]),
                           least(last[j], row[j - 1]) + 1);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
        before = last;
        last = row;
        row = freed;
    }
    return last[b_size];
}

void similar_offer(similar_t *self, const char *candidate)
{
    unsigned distance = similar_distance(self->word, candidate);
    size_t permitted = strlen(candidate) / 4;

    if (distance > (permitted ? permitted : 1)
        || (self->best && distance >= self->distance))
        return;
    self->best = candidate;
    self->distance = distance;
}
