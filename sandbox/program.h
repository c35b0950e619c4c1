/* A filter's instructions in the making. They are written from the last one to
 * the first, because a jump leads forward alone: what it leads to is there
 * already. */
#ifndef HEARTH_SANDBOX_PROGRAM_H
#define HEARTH_SANDBOX_PROGRAM_H

#include "sandbox/internal.h"

#define PROGRAM_MAX 1024 /* instructions; the kernel takes 4096 */

/* An instruction, counted from the end. */
typedef unsigned place_t;

typedef struct {
    struct sock_filter code[PROGRAM_MAX]; /* the last one first */
    place_t length;
    bool overflowed; /* there was no room for one */
} program_t;

/* Each writes in front of what is there, and returns where. */

/* The end of the way: an action of seccomp's. One that is near serves again. */
place_t program_answer(program_t *self, uint32_t action);

/* Compares what is loaded; `comparison` is BPF_JEQ or BPF_JGE. */
place_t program_test(program_t *self, unsigned comparison, uint32_t value,
                     place_t yes, place_t no);

/* Loads four bytes of seccomp_data for what was written last, and keeps those
 * bits. */
place_t program_load(program_t *self, uint32_t offset, uint32_t mask);

/* What was written, first to last; -E2BIG with a fault when it is too long. The
 * caller clears the filter. */
int program_finish(const program_t *self, filter_t *ret_filter, fault_t *fault);

#endif
