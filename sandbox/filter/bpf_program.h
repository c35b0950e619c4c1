/* Builds a filter's instructions. They are written from the last one to the
 * first, because a jump only goes forward: its target must exist already. */
#ifndef HEARTH_SANDBOX_FILTER_BPF_PROGRAM_H
#define HEARTH_SANDBOX_FILTER_BPF_PROGRAM_H

#include "sandbox/filter/filter.h"

#include <stdbool.h>

#define BPF_PROGRAM_MAX 1024 /* instructions; the kernel takes 4096 */

/* An instruction, counted from the end. */
typedef unsigned place_t;

typedef struct {
    struct sock_filter code[BPF_PROGRAM_MAX]; /* the last one first */
    place_t length;
    bool overflowed; /* an instruction did not fit */
} bpf_program_t;

/* Each function adds an instruction before the existing ones, and returns its
 * place. */

/* Adds the end of a path: an action of seccomp. A near one is reused. */
place_t bpf_program_answer(bpf_program_t *self, uint32_t action);

/* Adds a comparison of the loaded value; `comparison` is BPF_JEQ or BPF_JGE. */
place_t bpf_program_test(bpf_program_t *self, unsigned comparison,
                         uint32_t value, place_t yes, place_t no);

/* Adds a load of four bytes of seccomp_data, masked, for the instruction added
 * last. */
place_t bpf_program_load(bpf_program_t *self, uint32_t offset, uint32_t mask);

/* Returns the program, first instruction to last; -E2BIG with a fault if it is
 * too long. The caller clears the filter. */
int bpf_program_finish(const bpf_program_t *self, filter_t *ret_filter,
                       fault_t *fault);

#endif
