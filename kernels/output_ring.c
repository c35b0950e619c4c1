/* See output_ring.h. A list of pieces; what is added joins the last one, unless
 * that was sent or is of the other stream. */
#include "kernels/output_ring.h"

#include "base/buffer.h"

#include <assert.h>
#include <string.h>

/* A piece of one byte costs memory, too. */
#define PIECE_COST 64

typedef struct kept_piece {
    struct kept_piece *next; /* owned */
    uint64_t offset;
    unsigned stream;
    bool is_sent;
    bool is_taken; /* the gateway has all of it */
    buffer_t bytes;
} kept_piece_t;

struct output_ring {
    kept_piece_t *first; /* owned */
    kept_piece_t *last;  /* the end of the list */
    size_t untaken_max, kept_max, piece_max;
    size_t kept;           /* bytes and costs of the list */
    size_t held;           /* of the pieces that are not taken */
    uint64_t end;          /* offset of the next byte */
    uint64_t taken;        /* the gateway has what is before */
    uint64_t taken_second; /* bytes of stream 2 among that */
};

output_ring_t *output_ring_new(size_t untaken_max, size_t kept_max,
                               size_t piece_max)
{
    output_ring_t *self = mem_new(sizeof *self);

    self->untaken_max = untaken_max;
    self->kept_max = kept_max;
    self->piece_max = piece_max;
    return self;
}

static void drop_first(output_ring_t *self)
{
    kept_piece_t *first = self->first;

    self->first = first->next;
    if (!self->first)
        self->last = NULL;
    self->kept -= first->bytes.size + PIECE_COST;
    buffer_reset(&first->bytes);
    free(first);
}

void output_ring_destroy(output_ring_t **self_p)
{
    output_ring_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        drop_first(self);
    free(self);
    *self_p = NULL;
}

/* Forgets what the gateway has, the oldest first, down to the bound. */
static void forget(output_ring_t *self)
{
    while (self->first && self->kept > self->kept_max && self->first->is_taken)
        drop_first(self);
}

size_t output_ring_room(const output_ring_t *self)
{
    return self->held + PIECE_COST < self->untaken_max
               ? self->untaken_max - self->held - PIECE_COST
               : 0;
}

static kept_piece_t *add_piece(output_ring_t *self, unsigned stream)
{
    kept_piece_t *piece = mem_new(sizeof *piece);

    piece->offset = self->end;
    piece->stream = stream;
    if (self->last)
        self->last->next = piece;
    else
        self->first = piece;
    self->last = piece;
    self->kept += PIECE_COST;
    self->held += PIECE_COST;
    return piece;
}

void output_ring_add(output_ring_t *self, unsigned stream, const void *bytes,
                     size_t size)
{
    const char *at = bytes;

    while (size > 0) {
        kept_piece_t *piece = self->last;
        size_t part;

        if (!piece || piece->is_sent || piece->is_taken
            || piece->stream != stream || piece->bytes.size >= self->piece_max)
            piece = add_piece(self, stream);
        part = self->piece_max - piece->bytes.size;
        if (part > size)
            part = size;
        buffer_append(&piece->bytes, at, part);
        self->kept += part;
        self->held += part;
        self->end += part;
        at += part;
        size -= part;
    }
    forget(self);
}

bool output_ring_next(output_ring_t *self, output_piece_t *ret_piece)
{
    kept_piece_t *piece = self->first;

    while (piece && piece->is_sent)
        piece = piece->next;
    if (!piece)
        return false;
    *ret_piece = (output_piece_t){piece->offset, piece->stream,
                                  buffer_bytes(&piece->bytes)};
    return true;
}

void output_ring_sent(output_ring_t *self)
{
    kept_piece_t *piece = self->first;

    while (piece && piece->is_sent)
        piece = piece->next;
    assert(piece);
    piece->is_sent = true;
}

void output_ring_taken(output_ring_t *self, uint64_t offset)
{
    if (offset <= self->taken || offset > self->end)
        return;
    self->taken = offset;
    for (kept_piece_t *piece = self->first;
         piece && piece->offset + piece->bytes.size <= offset;
         piece = piece->next) {
        if (!piece->is_taken) {
            self->held -= piece->bytes.size + PIECE_COST;
            self->taken_second += piece->stream == 2 ? piece->bytes.size : 0;
        }
        piece->is_taken = piece->is_sent = true;
    }
    forget(self);
}

void output_ring_rewind(output_ring_t *self)
{
    for (kept_piece_t *piece = self->first; piece; piece = piece->next)
        piece->is_sent = false;
}

uint64_t output_ring_taken_offset(const output_ring_t *self)
{
    return self->taken;
}

uint64_t output_ring_taken_second(const output_ring_t *self)
{
    return self->taken_second;
}

bool output_ring_is_taken(const output_ring_t *self)
{
    return self->taken == self->end;
}
