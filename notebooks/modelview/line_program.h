/* The program that an expression becomes: steps that line_pattern.c writes and
 * line_search.c runs. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_LINE_PROGRAM_H
#define HEARTH_NOTEBOOKS_MODELVIEW_LINE_PROGRAM_H

#include "notebooks/modelview/line_pattern.h"

typedef enum {
    OP_SET,   /* one character of a set */
    OP_SPLIT, /* goes on at x and at y */
    OP_JUMP,  /* goes on at x */
    OP_BEGIN, /* holds at the line's beginning */
    OP_END,   /* holds at its end */
    OP_EDGE,  /* holds at a word's edge; x: only elsewhere */
    OP_FOUND,
} op_kind_t;

/* A set of characters: bytes of ASCII, and all others or none of them. */
typedef struct {
    uint64_t ascii[2]; /* a bit for each */
    uint32_t code;     /* a single other one; 0: none */
    bool is_other;     /* all characters past ASCII */
} set_t;

typedef struct {
    op_kind_t kind;
    unsigned x, y; /* where it goes on */
    set_t set;     /* of OP_SET */
} op_t;

/* States that are tried at the same byte, each once. */
typedef struct {
    unsigned list[LINE_PATTERN_STATES_MAX];
    unsigned at[LINE_PATTERN_STATES_MAX]; /* where a state is in `list` */
    unsigned count;
} threads_t;

struct line_pattern {
    op_t ops[LINE_PATTERN_STATES_MAX + 1]; /* one more: writes after a flaw */
    unsigned count;                        /* of them */
    threads_t now, next;
    unsigned stack[LINE_PATTERN_STATES_MAX * 2]; /* states to be added */
    uint64_t steps;                              /* taken so far */
    const char *at;    /* borrowed; while it is read: the next character */
    const char *flaw;  /* lent; while it is read */
    unsigned depth;    /* while it is read: open groups */
    bool ignores_case; /* ASCII letters */
};

static inline bool set_has_byte(const set_t *set, unsigned byte)
{
    return set->ascii[byte / 64] >> byte % 64 & 1;
}

/* Returns true for what \w takes. Characters past ASCII count as letters. */
static inline bool byte_is_word(unsigned byte)
{
    return byte >= 128 || (byte >= '0' && byte <= '9')
           || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')
           || byte == '_';
}

#endif
