/* Finds the word of a list that is nearest to a mistyped one: "did you
 * mean". */
#ifndef HEARTH_BASE_SIMILAR_H
#define HEARTH_BASE_SIMILAR_H

#include <stddef.h>

/* Begins as {.word = "idle_timout"}. */
typedef struct {
    const char *word;  /* borrowed; what was typed */
    const char *best;  /* borrowed; the nearest so far; NULL: none is near */
    unsigned distance; /* the distance of `best` */
} similar_t;

/* Returns how many letters must be changed, added, left out, or swapped with
 * their neighbour to make one word of the other. Only the first 63 bytes of a
 * word are compared. */
unsigned similar_distance(const char *a, const char *b);

/* Keeps the candidate if it is nearer than those before and near enough: a
 * quarter of its letters may be wrong, at least one. It is borrowed. */
void similar_offer(similar_t *self, const char *candidate);

#endif
