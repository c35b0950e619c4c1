/* The payload's system call filter: built with libseccomp in the caller, kept
 * as plain instructions, loaded in the child by one raw call that allocates
 * nothing. It is syscalls.def; pid 1 has a tiny one of its own, in init.c.
 *
 * libseccomp's own order, a list: its tree of numbers, and other orders too,
 * let version 2.5.4 join the arguments of socket and madvise into one test on
 * aarch64, and more passes than the table says (test_table found it, and looks
 * at each build). The list costs little: the kernel remembers which calls are
 * allowed whatever their arguments, and asks for the others alone.
 *
 * A call through a foreign door (int 0x80, x32) ends the process: nothing
 * legitimate does that. Whatever else is not listed gets EPERM, because agents'
 * code probes harmlessly all the time. */
#include "sandbox/internal.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The bit of O_TMPFILE that O_DIRECTORY does not have, fcntl.h's __O_TMPFILE.
 */
#define O_TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)

/* CLONE_NEWTIME shares its bit with the exit signal and cannot be asked of
 * clone, only of unshare and clone3. */
#define CLONE_REFUSED                                                          \
    ((unsigned) (CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET     \
                 | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP               \
                 | CLONE_PTRACE | CLONE_PARENT))

/* Numbers that are younger than this filter say so, like an older kernel;
 * libraries then use what they used before. */
#define YOUNG_FIRST 451 /* cachestat, Linux 6.5; libseccomp 2.5 ends here */
#define YOUNG_LAST  511 /* behind it lie the numbers of x32 */

#define COMPARISONS_MAX 3

typedef struct {
    const char *name;
    uint32_t action;
    unsigned count; /* comparisons in use */
    struct scmp_arg_cmp comparisons[COMPARISONS_MAX];
    int network; /* for that network alone; ANY: for each */
} rule_t;

#define ANY (-1)

/* The kernel takes an int or a mode as 32 bits, whatever the rest holds. */
#define LOW 0xffffffffULL
#define MASKED(position, mask, value)                                          \
    {                                                                          \
        (position), SCMP_CMP_MASKED_EQ, (mask) &LOW, (value) &LOW              \
    }
#define EQUALS(position, value) MASKED(position, LOW, value)
#define KIND(kind)              MASKED(1, ~(SOCK_CLOEXEC | SOCK_NONBLOCK), kind)
#define OPTION(level, name)     EQUALS(1, level), EQUALS(2, name)
#define REQUEST(request)        EQUALS(1, request)
#define COUNT(...)                                                             \
    (sizeof(struct scmp_arg_cmp[]){__VA_ARGS__} / sizeof(struct scmp_arg_cmp))

#define ALLOW(name)        {#name, SCMP_ACT_ALLOW, 0, {{0}}, ANY},
#define ANSWER(name, code) {#name, SCMP_ACT_ERRNO(code), 0, {{0}}, ANY},
#define ALLOW_IF(name, ...)                                                    \
    {#name, SCMP_ACT_ALLOW, COUNT(__VA_ARGS__), {__VA_ARGS__}, ANY},
#define ANSWER_IF(name, code, ...)                                             \
    {#name, SCMP_ACT_ERRNO(code), COUNT(__VA_ARGS__), {__VA_ARGS__}, ANY},
#define LOOPBACK_IF(name, ...)                                                 \
    {#name,                                                                    \
     SCMP_ACT_ALLOW,                                                           \
     COUNT(__VA_ARGS__),                                                       \
     {__VA_ARGS__},                                                            \
     SANDBOX_NETWORK_LOOPBACK},
#define NONE_IF(name, code, ...)                                               \
    {#name,                                                                    \
     SCMP_ACT_ERRNO(code),                                                     \
     COUNT(__VA_ARGS__),                                                       \
     {__VA_ARGS__},                                                            \
     SANDBOX_NETWORK_NONE},

static const rule_t payload_rules[] = {
#include "sandbox/syscalls.def"
};

#define cleanup_context CLEANUP(context_destroy)

static void context_destroy(scmp_filter_ctx *self_p)
{
    if (*self_p != NULL)
        seccomp_release(*self_p);
    *self_p = NULL;
}

/* libseccomp answers with -errno. */
static int refused(fault_t *fault, int r, const char *what)
{
    return fault_set(fault, -r, "sandbox: filter: %s: %s", what, strerror(-r));
}

/* Of another architecture, when the filter is for that one: libseccomp takes
 * our own numbers and knows the others', or that there is none. */
static bool has_no_number(int r)
{
    return r == -EDOM;
}

static int add_rules(scmp_filter_ctx context, sandbox_network_t network,
                     fault_t *fault)
{
    for (size_t i = 0; i < sizeof payload_rules / sizeof payload_rules[0];
         i++) {
        const rule_t *rule = &payload_rules[i];
        int number = seccomp_syscall_resolve_name(rule->name);
        int r;

        /* Another architecture's, or a newer kernel's. */
        if (number < 0
            || (rule->network != ANY && rule->network != (int) network))
            continue;
        r = seccomp_rule_add_exact_array(context, rule->action, number,
                                         rule->count, rule->comparisons);
        if (r < 0 && !has_no_number(r))
            return refused(fault, r, rule->name);
    }
    return 0;
}

static int add_young(scmp_filter_ctx context, fault_t *fault)
{
    for (int number = YOUNG_FIRST; number <= YOUNG_LAST; number++) {
        int r = seccomp_rule_add_exact_array(context, SCMP_ACT_ERRNO(ENOSYS),
                                             number, 0, NULL);

        /* -EEXIST: a younger libseccomp, and a rule of our own. */
        if (r < 0 && r != -EEXIST)
            return refused(fault, r, "a young number");
    }
    return 0;
}

static int export(scmp_filter_ctx context, filter_t *ret_filter, fault_t *fault)
{
    cleanup_fd int fd = memfd_create("filter", MFD_CLOEXEC);
    cleanup_free struct sock_filter *code = NULL;
    off_t size;
    int r;

    if (fd < 0)
        return fault_errno(fault, "filter: memfd_create");
    if ((r = seccomp_export_bpf(context, fd)) < 0)
        return refused(fault, r, "export");
    size = lseek(fd, 0, SEEK_END);
    if (size <= 0 || size > BPF_MAXINSNS * (off_t) sizeof *code)
        return fault_set(fault, E2BIG, "sandbox: filter: %lld bytes long",
                         (long long) size);
    code = mem_new((size_t) size);
    if (pread(fd, code, (size_t) size, 0) != size)
        return fault_errno(fault, "filter: read");
    ret_filter->length = (unsigned short) ((size_t) size / sizeof *code);
    ret_filter->code = take_ptr(code);
    return 0;
}

static int set_attributes(scmp_filter_ctx context, fault_t *fault)
{
    int r;

    r = seccomp_attr_set(context, SCMP_FLTATR_ACT_BADARCH,
                         SCMP_ACT_KILL_PROCESS);
    if (r < 0)
        return refused(fault, r, "foreign architectures");
    return 0;
}

static int choose_architecture(scmp_filter_ctx context, uint32_t arch,
                               fault_t *fault)
{
    int r;

    if (arch == seccomp_arch_native())
        return 0;
    if ((r = seccomp_arch_remove(context, SCMP_ARCH_NATIVE)) < 0
        || (r = seccomp_arch_add(context, arch)) < 0)
        return refused(fault, r, "architecture");
    return 0;
}

int filter_build_for(filter_t *self, uint32_t arch, sandbox_network_t network,
                     fault_t *fault)
{
    cleanup_context scmp_filter_ctx context =
        seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int r;

    if (context == NULL)
        return fault_set(fault, ENOMEM, "sandbox: filter: seccomp_init");
    if ((r = choose_architecture(context, arch, fault)) < 0
        || (r = set_attributes(context, fault)) < 0
        || (r = add_rules(context, network, fault)) < 0)
        return r;
    /* Numbers without a name cannot be translated. */
    if (arch == seccomp_arch_native() && (r = add_young(context, fault)) < 0)
        return r;
    return export(context, self, fault);
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
