/* The output of a process that its keeper holds: what the gateway has not taken
 * yet, and after that what it took last, for a gateway that comes anew. Bytes
 * are numbered over both streams, from 0. */
#ifndef HEARTH_KERNELS_OUTPUT_RING_H
#define HEARTH_KERNELS_OUTPUT_RING_H

#include "base/bytes.h"
#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct output_ring output_ring_t;

/* A piece of one stream. */
typedef struct {
    uint64_t offset; /* of its first byte */
    unsigned stream;
    bytes_t bytes; /* lent until the ring is changed */
} output_piece_t;

/* Returns a ring for `untaken_max` bytes that are not taken, and about
 * `kept_max` in all; no piece is bigger than `piece_max`. */
output_ring_t *output_ring_new(size_t untaken_max, size_t kept_max,
                               size_t piece_max);
void output_ring_destroy(output_ring_t **self_p);
#define cleanup_output_ring CLEANUP(output_ring_destroy)

/* Returns how many more bytes may be added. */
size_t output_ring_room(const output_ring_t *self);
/* Adds bytes, not more than there is room for. */
void output_ring_add(output_ring_t *self, unsigned stream, const void *bytes,
                     size_t size);
/* Returns the next piece that is to be sent; false if all were. It comes again
 * until output_ring_sent. */
bool output_ring_next(output_ring_t *self, output_piece_t *ret_piece);
/* Notes that it was sent. */
void output_ring_sent(output_ring_t *self);
/* Notes that the gateway has everything before `offset`. */
void output_ring_taken(output_ring_t *self, uint64_t offset);
/* Begins to send anew with the oldest piece. */
void output_ring_rewind(output_ring_t *self);
/* Returns the offset up to which the gateway has everything. */
uint64_t output_ring_taken_offset(const output_ring_t *self);
/* Returns how many bytes of stream 2 are before that. */
uint64_t output_ring_taken_second(const output_ring_t *self);
/* Returns true if the gateway has everything. */
bool output_ring_is_taken(const output_ring_t *self);

#endif
