/* See token_weight.h. A tokenizer splits a text into words, groups of up to
 * three digits, runs of signs and of blanks. Then it splits a word that it does
 * not know into pieces. The costs here were fitted to o200k_base. They are in
 * twentieths of a token. */
#include "notebooks/modelview/token_weight.h"

#define TOKEN           20
#define WORD_BYTES      7  /* letters of one token */
#define PIECE_BYTES     3  /* of one that follows letters or digits */
#define AFTER_DIGITS    3  /* more for such a piece of hexadecimal */
#define EACH_FOUR       5  /* for each letter beyond that */
#define WORD_BYTES_MAX  20 /* longer ones are no words: two letters a token */
#define GLUED_SIGN      8  /* before a letter, often of the word's token */
#define SIGN_OF_MANY    12
#define EQUAL_SIGNS     16 /* that are one token */
#define CAPITALS        10 /* for each before another capital and a letter */
#define NEWLINE_TO_SIGN 10

typedef enum {
    NEWLINE,
    BLANK,
    DIGIT,
    CAPITAL,
    SMALL,
    SIGN,
    OTHER
} kind_t;

typedef struct {
    const unsigned char *at, *end;
    kind_t last; /* of the run before */
} run_scan_t;

static kind_t kind_of(unsigned char byte)
{
    if (byte >= '0' && byte <= '9')
        return DIGIT;
    if (byte >= 'a' && byte <= 'z')
        return SMALL;
    if (byte >= 'A' && byte <= 'Z')
        return CAPITAL;
    if (byte == ' ' || byte == '\t')
        return BLANK;
    if (byte == '\n' || byte == '\r')
        return NEWLINE;
    return byte < 0x80 ? SIGN : OTHER;
}

static kind_t next_kind(const run_scan_t *self)
{
    return self->at < self->end ? kind_of(*self->at) : NEWLINE;
}

/* Passes the bytes of that kind; returns their number. */
static size_t pass(run_scan_t *self, kind_t kind)
{
    const unsigned char *first = self->at;

    while (self->at < self->end && kind_of(*self->at) == kind)
        self->at++;
    return (size_t) (self->at - first);
}

static size_t word_cost(run_scan_t *self)
{
    size_t known =
        self->last == DIGIT || self->last == CAPITAL || self->last == SMALL
            ? PIECE_BYTES
            : WORD_BYTES;
    size_t capitals = pass(self, CAPITAL), small = pass(self, SMALL);
    size_t size = capitals + small;
    size_t cost = TOKEN + (self->last == DIGIT ? AFTER_DIGITS : 0);

    if (size > WORD_BYTES_MAX)
        cost = size * TOKEN / 2;
    else if (size > known)
        cost += (size - known) * EACH_FOUR;
    if (capitals > 1 && small)
        cost += (capitals - 1) * CAPITALS;
    return cost;
}

static size_t signs_cost(run_scan_t *self)
{
    unsigned char sign = *self->at;
    size_t count = 0;
    kind_t next;

    while (self->at < self->end && *self->at == sign) {
        self->at++;
        count++;
    }
    if (count > 1)
        return TOKEN + (count - 1) / EQUAL_SIGNS * TOKEN;
    next = next_kind(self);
    if (next == CAPITAL || next == SMALL)
        return GLUED_SIGN;
    return next == SIGN ? SIGN_OF_MANY : TOKEN;
}

/* Returns what blanks cost: one before a word or a sign is of its token. */
static size_t blanks_cost(run_scan_t *self)
{
    size_t count = pass(self, BLANK);
    kind_t next = next_kind(self);

    return count == 1 && next != DIGIT && next != NEWLINE ? 0 : TOKEN;
}

/* Returns the cost of one byte of other scripts: only the first of a character
 * has one. */
static size_t other_cost(unsigned char byte)
{
    if (byte >= 0xf0)
        return 2 * TOKEN;
    if (byte >= 0xe0)
        return TOKEN;
    return byte >= 0xc0 ? TOKEN / 2 : 0;
}

static size_t run_cost(run_scan_t *self, kind_t kind)
{
    switch (kind) {
    case DIGIT:
        return (pass(self, DIGIT) + 2) / 3 * TOKEN;
    case CAPITAL:
    case SMALL:
        return word_cost(self);
    case SIGN:
        return signs_cost(self);
    case BLANK:
        return blanks_cost(self);
    case NEWLINE:
        pass(self, NEWLINE);
        return self->last == SIGN ? NEWLINE_TO_SIGN : TOKEN;
    case OTHER:
        break;
    }
    return other_cost(*self->at++);
}

size_t token_weight(bytes_t text)
{
    const unsigned char *begin = (const unsigned char *) text.bytes;
    run_scan_t self = {.at = begin, .last = NEWLINE};
    size_t cost = 0, weight;

    if (!text.size)
        return 0;
    self.end = begin + text.size;
    while (self.at < self.end) {
        kind_t kind = kind_of(*self.at);
        cost += run_cost(&self, kind);
        self.last = kind;
    }
    weight = TOKEN_WEIGHT(cost) / TOKEN;
    return weight > text.size ? weight : text.size;
}
