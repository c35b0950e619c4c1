/* The payload's system call filter. It is made in the caller from syscalls.def
 * and kept as plain instructions. One raw call that allocates nothing loads it
 * in the child. Pid 1 has a small filter of its own, in init.c.
 *
 * libseccomp is used only to find the number of each name. Its list order costs
 * 0.2 to 0.4 ms per launch, because the kernel runs a new filter once for each
 * number. It does so to remember which calls it always allows. Its tree order
 * lets version 2.5.4 join the arguments of socket and madvise into one test on
 * aarch64. Therefore numbers with the same answer become ranges here, which are
 * found by bisection, and each test of arguments is written once. test_table
 * compares each build with the table and runs every instruction.
 *
 * A call through a foreign entry (int 0x80, x32) ends the process, because no
 * legitimate program uses one. Every other call that is not listed gets EPERM,
 * because agents' code often makes harmless attempts. */
#include "sandbox/filter/filter.h"
#include "sandbox/filter/bpf_program.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The bit of O_TMPFILE that O_DIRECTORY does not have, <fcntl.h>'s __O_TMPFILE.
 */
#define O_TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

/* CLONE_NEWTIME shares its bit with the exit signal and cannot be asked of
 * clone, only of unshare and clone3. */
#define CLONE_REFUSED                                                          \
    ((unsigned) (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET     \
                 | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP               \
                 | CLONE_PTRACE | CLONE_PARENT))

/* Numbers that are newer than this filter get ENOSYS, as on an older kernel;
 * libraries then use an older call. */
#define YOUNG_FIRST 451 /* cachestat, Linux 6.5 */
#define NUMBERS     512 /* followed by the numbers of x32 */
#define X32_BIT     0x40000000U
#define TAKEN_BACK  UINT32_MAX /* the number of a call that a tracer skips */

#define COMPARISONS_MAX 3

/* A comparison with the low 32 bits of an argument. */
typedef struct {
    unsigned position;
    uint32_t mask;
    uint32_t value;
} comparison_t;

typedef struct {
    const char *name;
    uint32_t action;
    unsigned count; /* comparisons in use */
    comparison_t comparisons[COMPARISONS_MAX];
    int network; /* the rule is for that network alone; ANY: for each */
} rule_t;

#define ANY (-1)

/* The kernel takes an int or a mode as 32 bits, whatever the rest holds. */
#define MASKED(position, mask, value)                                          \
    {                                                                          \
        (position), (uint32_t) (mask), (uint32_t) (value)                      \
    }
#define EQUALS(position, value) MASKED(position, UINT32_MAX, value)
#define KIND(kind)              MASKED(1, ~(SOCK_CLOEXEC | SOCK_NONBLOCK), kind)
#define OPTION(level, name)     EQUALS(1, level), EQUALS(2, name)
#define REQUEST(request)        EQUALS(1, request)
#define COUNT(...)              (sizeof(comparison_t[]){__VA_ARGS__} / sizeof(comparison_t))

#define YES      SECCOMP_RET_ALLOW
#define NO(code) (SECCOMP_RET_ERRNO | (code))

#define ALLOW(name, why)        {#name, YES, 0, {{0}}, ANY},
#define ANSWER(name, code, why) {#name, NO(code), 0, {{0}}, ANY},
#define ALLOW_IF(name, why, ...)                                               \
    {#name, YES, COUNT(__VA_ARGS__), {__VA_ARGS__}, ANY},
#define ANSWER_IF(name, code, why, ...)                                        \
    {#name, NO(code), COUNT(__VA_ARGS__), {__VA_ARGS__}, ANY},
#define LOOPBACK_IF(name, why, ...)                                            \
    {#name, YES, COUNT(__VA_ARGS__), {__VA_ARGS__}, SANDBOX_NETWORK_LOOPBACK},
#define NONE_IF(name, code, why, ...)                                          \
    {#name, NO(code), COUNT(__VA_ARGS__), {__VA_ARGS__}, SANDBOX_NETWORK_NONE},

static const rule_t payload_rules[] = {
#include "sandbox/filter/syscalls.def"
};

#define RULES (sizeof payload_rules / sizeof payload_rules[0])

/* The rules of one call, in their order; the first that matches decides. */
typedef struct {
    const rule_t **rules; /* borrowed, out of those of all calls */
    size_t count;
} call_rules_t;

/* Numbers with one answer, up to where the next range begins. */
typedef struct {
    uint32_t first;
    uint32_t action;          /* if no argument is looked at */
    const call_rules_t *call; /* if arguments are looked at; else NULL */
} answer_range_t;

typedef struct {
    const rule_t *rules[RULES]; /* by the number of their call */
    call_rules_t calls[NUMBERS];
    answer_range_t ranges[NUMBERS];
    size_t range_count;
    bpf_program_t program;
} build_t;

static int sort_rules(build_t *self, uint32_t arch, sandbox_network_t network,
                      fault_t *fault)
{
    int numbers[RULES]; /* -1: unknown to libseccomp */

    for (size_t i = 0; i < RULES; i++) {
        const rule_t *rule = &payload_rules[i];
        int number = seccomp_syscall_resolve_name_arch(arch, rule->name);

        if (number >= NUMBERS)
            return fault_set(fault, ERANGE, "sandbox: filter: %s is number %d",
                             rule->name, number);
        /* Another architecture's, or a newer kernel's. */
        if (number < 0
            || (rule->network != ANY && rule->network != (int) network))
            numbers[i] = -1;
        else
            self->calls[numbers[i] = number].count++;
    }
    for (size_t i = 0, at = 0; i < NUMBERS; i++) {
        self->calls[i].rules = self->rules + at;
        at += self->calls[i].count;
        self->calls[i].count = 0;
    }
    for (size_t i = 0; i < RULES; i++)
        if (numbers[i] >= 0) {
            call_rules_t *call = &self->calls[numbers[i]];

            call->rules[call->count++] = &payload_rules[i];
        }
    return 0;
}

/* Returns the rule of a number, with the rules of its arguments if they matter.
 */
static answer_range_t range_of(const build_t *self, uint32_t number)
{
    const call_rules_t *call = &self->calls[number];
    uint32_t action = number < YOUNG_FIRST ? NO(EPERM) : NO(ENOSYS);

    if (call->count == 0)
        return (answer_range_t){number, action, NULL};
    if (call->rules[0]->count == 0)
        return (answer_range_t){number, call->rules[0]->action, NULL};
    return (answer_range_t){number, 0, call};
}

static void make_ranges(build_t *self)
{
    for (uint32_t number = 0; number < NUMBERS; number++) {
        answer_range_t range = range_of(self, number);

        if (self->range_count > 0
            && self->ranges[self->range_count - 1].call == range.call
            && self->ranges[self->range_count - 1].action == range.action)
            continue;
        self->ranges[self->range_count++] = range;
    }
}

static bool is_same_part(const comparison_t *a, const comparison_t *b)
{
    return a->position == b->position && a->mask == b->mask;
}

static place_t load_part(bpf_program_t *program, const comparison_t *part)
{
    return bpf_program_load(program,
                            (uint32_t) offsetof(struct seccomp_data, args)
                                + (uint32_t) sizeof(uint64_t) * part->position,
                            part->mask);
}

/* Writes rules that share their first `depth` comparisons; if none matches,
 * control goes on at `otherwise`. Written from the last rule to the first;
 * rules that agree in one more comparison become one test. */
static place_t write_rules(bpf_program_t *program, const rule_t *const *rules,
                           size_t count, unsigned depth, place_t otherwise)
{
    const comparison_t *held =
        NULL;                 /* the argument that the next test needs loaded */
    place_t test = otherwise; /* the next test */
    place_t next = otherwise; /* the same, with the load before it */

    for (size_t end = count, first; end > 0; end = first) {
        const comparison_t *one = &rules[end - 1]->comparisons[depth];
        place_t yes;

        first = end - 1;
        if (rules[first]->count == depth) {
            next = test = bpf_program_answer(program, rules[first]->action);
            held = NULL;
            continue;
        }
        while (first > 0 && rules[first - 1]->count > depth
               && is_same_part(&rules[first - 1]->comparisons[depth], one)
               && rules[first - 1]->comparisons[depth].value == one->value)
            first--;
        yes = write_rules(program, rules + first, end - first, depth + 1, next);
        test = bpf_program_test(program, BPF_JEQ, one->value, yes,
                                held != NULL && is_same_part(held, one) ? test
                                                                        : next);
        held = one;
        /* A jump from the test before finds the argument loaded. A jump from an
         * earlier test of the same rule does not. */
        if (first == 0 || rules[first - 1]->count > depth + 1
            || !is_same_part(&rules[first - 1]->comparisons[depth], one))
            next = load_part(program, one);
    }
    return next;
}

static place_t write_range(bpf_program_t *program, const answer_range_t *range)
{
    return range->call == NULL
               ? bpf_program_answer(program, range->action)
               : write_rules(program, range->call->rules, range->call->count, 0,
                             bpf_program_answer(program, NO(EPERM)));
}

/* Writes a binary search by the number, which is loaded. */
static place_t write_ranges(bpf_program_t *program,
                            const answer_range_t *ranges, size_t count)
{
    size_t half = count / 2;
    place_t upper;
    place_t lower;

    if (count == 1)
        return write_range(program, ranges);
    upper = write_ranges(program, ranges + half, count - half);
    lower = write_ranges(program, ranges, half);
    return bpf_program_test(program, BPF_JGE, ranges[half].first, upper, lower);
}

/* Writes the answer to numbers that no table has. */
static place_t write_far(bpf_program_t *program, uint32_t arch)
{
    place_t refused = bpf_program_answer(program, NO(EPERM));
    place_t end;

    if (arch != AUDIT_ARCH_X86_64)
        return refused;
    end = bpf_program_answer(program, SECCOMP_RET_KILL_PROCESS);
    return bpf_program_test(
        program, BPF_JGE, X32_BIT,
        bpf_program_test(program, BPF_JEQ, TAKEN_BACK, refused, end), refused);
}

static void write_program(build_t *self, uint32_t arch)
{
    bpf_program_t *program = &self->program;
    place_t near = write_ranges(program, self->ranges, self->range_count);
    place_t far = write_far(program, arch);
    place_t end = bpf_program_answer(program, SECCOMP_RET_KILL_PROCESS);
    place_t own;

    bpf_program_test(program, BPF_JGE, NUMBERS, far, near);
    own = bpf_program_load(program, offsetof(struct seccomp_data, nr),
                           UINT32_MAX);
    bpf_program_test(program, BPF_JEQ, arch, own, end);
    bpf_program_load(program, offsetof(struct seccomp_data, arch), UINT32_MAX);
}

int filter_build_for(filter_t *self, uint32_t arch, sandbox_network_t network,
                     fault_t *fault)
{
    cleanup_free build_t *build = mem_new(sizeof *build);
    int r;

    if ((r = sort_rules(build, arch, network, fault)) < 0)
        return r;
    make_ranges(build);
    write_program(build, arch);
    return bpf_program_finish(&build->program, self, fault);
}

int filter_build_payload(filter_t *self, sandbox_network_t network,
                         fault_t *fault)
{
    return filter_build_for(self, seccomp_arch_native(), network, fault);
}

void filter_clear(filter_t *self)
{
    free(self->code);
    *self = (filter_t){NULL, 0};
}

int filter_load(const filter_t *self, fault_t *fault)
{
    const struct sock_fprog program = {self->length, self->code};

    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return fault_errno(fault, "seccomp");
    return 0;
}
