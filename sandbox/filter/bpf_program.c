/* See bpf_program.h. */
#include "sandbox/filter/bpf_program.h"

#include "base/buffer.h"

#include <errno.h>
#include <string.h>

/* A test says in eight bits how far it jumps. Two instructions less, because
 * more may be written between the look at the distance and the jump. */
#define REACH 253

static place_t add(bpf_program_t *self, struct sock_filter instruction)
{
    if (self->length == BPF_PROGRAM_MAX) {
        self->overflowed = true;
        return 0;
    }
    self->code[self->length] = instruction;
    return self->length++;
}

static bool is_near(const bpf_program_t *self, place_t place)
{
    return self->length - place <= REACH;
}

/* Returns that place, or a nearby jump to it. */
static place_t reach(bpf_program_t *self, place_t place)
{
    if (is_near(self, place))
        return place;
    return add(self, (struct sock_filter) BPF_STMT(BPF_JMP | BPF_JA,
                                                   self->length - place - 1));
}

place_t bpf_program_answer(bpf_program_t *self, uint32_t action)
{
    for (place_t place = self->length; place-- > 0 && is_near(self, place);)
        if (self->code[place].code == (BPF_RET | BPF_K)
            && self->code[place].k == action)
            return place;
    return add(self, (struct sock_filter) BPF_STMT(BPF_RET | BPF_K, action));
}

place_t bpf_program_test(bpf_program_t *self, unsigned comparison,
                         uint32_t value, place_t yes, place_t no)
{
    yes = reach(self, yes);
    no = reach(self, no);
    return add(self, (struct sock_filter) BPF_JUMP(
                         (uint16_t) (BPF_JMP | BPF_K | comparison), value,
                         (uint8_t) (self->length - yes - 1),
                         (uint8_t) (self->length - no - 1)));
}

place_t bpf_program_load(bpf_program_t *self, uint32_t offset, uint32_t mask)
{
    if (mask != UINT32_MAX)
        add(self,
            (struct sock_filter) BPF_STMT(BPF_ALU | BPF_AND | BPF_K, mask));
    return add(self,
               (struct sock_filter) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset));
}

int bpf_program_finish(const bpf_program_t *self, filter_t *ret_filter,
                       fault_t *fault)
{
    struct sock_filter *code;

    if (self->overflowed)
        return fault_set(fault, E2BIG,
                         "sandbox: filter: more than %d instructions",
                         BPF_PROGRAM_MAX);
    code = mem_new(self->length * sizeof *code);
    for (place_t place = 0; place < self->length; place++)
        code[self->length - 1 - place] = self->code[place];
    *ret_filter = (filter_t){code, (unsigned short) self->length};
    return 0;
}
