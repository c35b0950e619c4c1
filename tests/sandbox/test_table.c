/* The compiled filter against the table that it was made of: a plain reading
 * of syscalls.def, and an interpreter of the instructions, must give the same
 * answer to whatever call. Both for this machine's architecture and for the
 * other one; nothing is loaded. */
#include "tests/lib/test.h"

#include "sandbox/filter/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define ANY         (-1)
#define TRIES       400000
#define COMPARE_MAX 3
#define FIRST_YOUNG 451
#define LAST_YOUNG  511
#define X32_BIT     0x40000000U
#define SKIPPED     (-1) /* the number of a call that a tracer took back */

typedef struct {
    unsigned position;
    uint64_t mask;
    uint64_t value;
} row_comparison_t;

typedef struct {
    const char *name;
    uint32_t answer;
    int network;
    size_t count;
    row_comparison_t comparisons[COMPARE_MAX];
} table_row_t;

#define O_TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
#define CLONE_REFUSED                                                          \
    ((unsigned) (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET     \
                 | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP               \
                 | CLONE_PTRACE | CLONE_PARENT))
#define LOW 0xffffffffULL
#define MASKED(position, mask, value)                                          \
    {                                                                          \
        (position), (mask) &LOW, (value) &LOW                                  \
    }
#define EQUALS(position, value) MASKED(position, LOW, value)
#define KIND(kind)              MASKED(1, ~(SOCK_CLOEXEC | SOCK_NONBLOCK), kind)
#define OPTION(level, name)     EQUALS(1, level), EQUALS(2, name)
#define REQUEST(request)        EQUALS(1, request)
#define COUNT(...)                                                             \
    (sizeof(row_comparison_t[]){__VA_ARGS__} / sizeof(row_comparison_t))
#define YES      SECCOMP_RET_ALLOW
#define NO(code) (SECCOMP_RET_ERRNO | (code))

#define ALLOW(name, why)        {#name, YES, ANY, 0, {{0, 0, 0}}},
#define ANSWER(name, code, why) {#name, NO(code), ANY, 0, {{0, 0, 0}}},
#define ALLOW_IF(name, why, ...)                                               \
    {#name, YES, ANY, COUNT(__VA_ARGS__), {__VA_ARGS__}},
#define ANSWER_IF(name, code, why, ...)                                        \
    {#name, NO(code), ANY, COUNT(__VA_ARGS__), {__VA_ARGS__}},
#define LOOPBACK_IF(name, why, ...)                                            \
    {#name, YES, SANDBOX_NETWORK_LOOPBACK, COUNT(__VA_ARGS__), {__VA_ARGS__}},
#define NONE_IF(name, code, why, ...)                                          \
    {#name, NO(code), SANDBOX_NETWORK_NONE, COUNT(__VA_ARGS__), {__VA_ARGS__}},

static const table_row_t rows[] = {
#include "sandbox/filter/syscalls.def"
};

#define ROWS (sizeof rows / sizeof rows[0])

/* One filter under test. */
typedef struct {
    uint32_t arch;
    sandbox_network_t network;
    filter_t filter;
    int numbers[ROWS];   /* of the rows, -1: unknown there */
    unsigned char *seen; /* which instructions have run; tests, with what */
} subject_t;

/* ---- the plain reading ---- */

static bool holds(const table_row_t *row, const struct seccomp_data *call)
{
    for (size_t i = 0; i < row->count; i++) {
        const row_comparison_t *comparison = &row->comparisons[i];

        if ((call->args[comparison->position] & comparison->mask)
            != comparison->value)
            return false;
    }
    return true;
}

static uint32_t read_table(const subject_t *self,
                           const struct seccomp_data *call)
{
    bool known = false;

    if (call->arch != self->arch
        || (self->arch == AUDIT_ARCH_X86_64 && (uint32_t) call->nr >= X32_BIT
            && call->nr != SKIPPED))
        return SECCOMP_RET_KILL_PROCESS;
    for (size_t i = 0; i < ROWS; i++) {
        if (self->numbers[i] < 0 || self->numbers[i] != call->nr
            || (rows[i].network != ANY
                && rows[i].network != (int) self->network))
            continue;
        known = true;
        if (holds(&rows[i], call))
            return rows[i].answer;
    }
    if (!known && call->nr >= FIRST_YOUNG && call->nr <= LAST_YOUNG)
        return NO(ENOSYS);
    return NO(EPERM);
}

/* ---- the interpreter: what bpf_program.c makes use of ---- */

static bool jumps(const struct sock_filter *at, uint32_t a)
{
    switch (BPF_OP(at->code)) {
    case BPF_JEQ:
        return a == at->k;
    case BPF_JGT:
        return a > at->k;
    case BPF_JGE:
        return a >= at->k;
    case BPF_JSET:
        return (a & at->k) != 0;
    default:
        fail_msg("a jump of kind %x", at->code);
        return false;
    }
}

/* Some rule of the call compares just that: what is loaded at the test is what
 * the test is for. Its answer may be the right one all the same, by luck with
 * the table of today. */
static bool is_in_table(const subject_t *self, int number,
                        const row_comparison_t *test)
{
    for (size_t i = 0; i < ROWS; i++)
        for (size_t k = 0; self->numbers[i] == number && k < rows[i].count; k++)
            if (rows[i].comparisons[k].position == test->position
                && rows[i].comparisons[k].mask == test->mask
                && rows[i].comparisons[k].value == test->value)
                return true;
    return false;
}

static void check_test(const subject_t *self, int number, unsigned at,
                       uint32_t offset, uint32_t mask)
{
    const uint32_t first = offsetof(struct seccomp_data, args);
    const row_comparison_t test = {(offset - first) / sizeof(uint64_t), mask,
                                   self->filter.code[at].k};
    unsigned char bit;

    if (offset < first)
        return;
    bit = (unsigned char) (2U << test.position);
    if (!(self->seen[at] & bit) && !is_in_table(self, number, &test))
        fail_msg("instruction %u tests argument %u of call %d for %llx", at,
                 test.position, number, (unsigned long long) test.value);
    self->seen[at] |= bit;
}

/* `ret_run`: how many instructions that took. */
static uint32_t interpret(const subject_t *self,
                          const struct seccomp_data *call, unsigned *ret_run)
{
    uint32_t a = 0, offset = 0, mask = 0; /* what a is */

    *ret_run = 0;
    for (unsigned at = 0; at < self->filter.length; at++) {
        const struct sock_filter *code = &self->filter.code[at];

        self->seen[at] |= 1;
        ++*ret_run;
        if (BPF_CLASS(code->code) == BPF_JMP
            && code->code != (BPF_JMP | BPF_JA))
            check_test(self, call->nr, at, offset, mask);
        if (code->code == (BPF_LD | BPF_W | BPF_ABS)) {
            memcpy(&a, (const char *) call + code->k, sizeof a);
            offset = code->k;
            mask = UINT32_MAX;
        } else if (code->code == (BPF_ALU | BPF_AND | BPF_K))
            a &= mask = code->k;
        else if (code->code == (BPF_JMP | BPF_JA))
            at += code->k;
        else if (code->code == (BPF_RET | BPF_K))
            return code->k;
        else if (BPF_CLASS(code->code) == BPF_JMP)
            at += jumps(code, a) ? code->jt : code->jf;
        else
            fail_msg("an instruction of kind %x", code->code);
    }
    fail_msg("the filter has no end");
    return 0;
}

/* ---- the calls ---- */

/* Repeatable: a failure names the try. */
static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* An argument near what a rule compares it with. */
static uint64_t draw_argument(uint64_t *state, const table_row_t *row,
                              unsigned at)
{
    uint64_t value = draw(state);

    for (size_t i = 0; i < row->count; i++)
        if (row->comparisons[i].position == at && draw(state) % 8 != 0)
            value =
                row->comparisons[i].value | (value & ~row->comparisons[i].mask);
    switch (draw(state) % 4) {
    case 0:
        return value ^ (1ULL << draw(state) % 64);
    case 1:
        return value & LOW;
    default:
        return value;
    }
}

static struct seccomp_data draw_call(const subject_t *self, uint64_t *state)
{
    size_t at = draw(state) % ROWS;
    struct seccomp_data call = {.nr = self->numbers[at], .arch = self->arch};

    if (draw(state) % 8 == 0 || call.nr < 0)
        call.nr = (int) (draw(state) % 600);
    if (draw(state) % 64 == 0)
        call.nr |= (int) X32_BIT;
    if (draw(state) % 64 == 0)
        call.nr = SKIPPED;
    if (draw(state) % 64 == 0)
        call.arch = (uint32_t) draw(state);
    for (unsigned i = 0; i < 6; i++)
        call.args[i] = draw_argument(state, &rows[at], i);
    return call;
}

static unsigned compare(subject_t *self, const struct seccomp_data *call,
                        long turn)
{
    unsigned run;
    uint32_t table = read_table(self, call);
    uint32_t filter = interpret(self, call, &run);

    if (table != filter)
        fail_msg("try %ld: call %d of %x (%llx, %llx, %llx): the table says "
                 "%x, the filter %x",
                 turn, call->nr, call->arch, (unsigned long long) call->args[0],
                 (unsigned long long) call->args[1],
                 (unsigned long long) call->args[2], table, filter);
    return run;
}

static void compare_all(uint32_t arch, sandbox_network_t network)
{
    subject_t self = {.arch = arch, .network = network};
    uint64_t state = 0x9e3779b97f4a7c15ULL;
    fault_t fault = {0, ""};
    size_t unseen = 0;
    unsigned run = 0;

    if (filter_build_for(&self.filter, arch, network, &fault) < 0)
        fail_msg("%s", fault.text);
    self.seen = calloc(self.filter.length, 1);
    for (size_t i = 0; i < ROWS; i++)
        self.numbers[i] = seccomp_syscall_resolve_name_arch(arch, rows[i].name);
    for (long turn = 0; turn < TRIES; turn++) {
        struct seccomp_data call = draw_call(&self, &state);

        compare(&self, &call, turn);
    }
    /* Every number once, with nothing in its arguments. */
    for (int number = 0; number < 1024; number++) {
        struct seccomp_data call = {.nr = number, .arch = arch};

        run += compare(&self, &call, -number);
    }
    for (unsigned i = 0; i < self.filter.length; i++)
        unseen += !self.seen[i];
    print_message("%u instructions, %zu of them never run; %u a call\n",
                  self.filter.length, unseen, run / 1024);
    assert_int_equal(unseen, 0);
    /* What a session's start pays for: the kernel makes each instruction
     * native, and tries each number. */
    assert_true(self.filter.length < 350);
    assert_true(run / 1024 < 16);
    filter_clear(&self.filter);
    free(self.seen);
}

static void is_the_table_on_x86_64(void **state)
{
    (void) state;
    compare_all(SCMP_ARCH_X86_64, SANDBOX_NETWORK_NONE);
    compare_all(SCMP_ARCH_X86_64, SANDBOX_NETWORK_LOOPBACK);
}

static void is_the_table_on_aarch64(void **state)
{
    (void) state;
    compare_all(SCMP_ARCH_AARCH64, SANDBOX_NETWORK_NONE);
    compare_all(SCMP_ARCH_AARCH64, SANDBOX_NETWORK_LOOPBACK);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_the_table_on_x86_64),
        cmocka_unit_test(is_the_table_on_aarch64),
    };

    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
