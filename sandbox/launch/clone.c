/* A child that shares its maker's memory, errno included, and runs a function
 * on a stack of its own. Its maker can wait until the child has left the
 * memory. It is made by clone3(2), so that it is born in a control group of
 * version 2. The C library does not offer that with a stack and a function.
 * Moving it there later would make the whole machine's forks wait. */
#include "sandbox/launch/clone.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GUARD_BYTES 4096

/* Clones, and runs a function in the child. That begins on its own stack, which
 * has no return address: it gets the function to call from registers. */
static long clone_and_run(struct clone_args *args, size_t size,
                          int (*run)(void *), void *argument)
{
#if defined __x86_64__
    register int (*callee)(void *) __asm__("r12") = run;
    register void *given __asm__("r13") = argument;
    long r;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "ud2\n"
                     "1:"
                     : "=a"(r)
                     : "a"(SYS_clone3), "D"(args), "S"(size), "r"(callee),
                       "r"(given)
                     : "rcx", "r11", "memory", "cc");
    return r;
#elif defined __aarch64__
    register long x8 __asm__("x8") = SYS_clone3;
    register long x0 __asm__("x0") = (long) args;
    register size_t x1 __asm__("x1") = size;
    register int (*callee)(void *) __asm__("x19") = run;
    register void *given __asm__("x20") = argument;

    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, #0\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "brk #1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(callee), "r"(given)
                     : "x30", "memory", "cc");
    return x0;
#else
#error how does a system call look here?
#endif
}

static long clone_into(clone_t *self, uint64_t flags, int cgroup_fd,
                       int (*run)(void *), void *argument, int *ret_pidfd)
{
    struct clone_args args;

    memset(&args, 0, sizeof args);
    args.flags = flags | CLONE_INTO_CGROUP;
    args.pidfd = (uint64_t) (uintptr_t) ret_pidfd;
    args.child_tid = (uint64_t) (uintptr_t) &self->shares;
    args.exit_signal = SIGCHLD;
    args.stack = (uint64_t) (uintptr_t) self->stack;
    args.stack_size = self->stack_size;
    args.cgroup = (uint64_t) cgroup_fd;
    return clone_and_run(&args, sizeof args, run, argument);
}

int clone_make_stack(clone_t *self, size_t size, bool is_forked, fault_t *fault)
{
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK
                           | (is_forked ? 0 : MAP_POPULATE),
                       -1, 0);

    if (stack == MAP_FAILED)
        return fault_set(fault, errno, "sandbox: a stack: %s", strerror(errno));
    self->stack = stack;
    self->stack_size = size;
    if (mprotect(stack, GUARD_BYTES, PROT_NONE) < 0
        || (!is_forked && madvise(stack, size, MADV_DONTFORK) < 0))
        return fault_set(fault, errno, "sandbox: a stack: %s", strerror(errno));
    return 0;
}

/* Starts the clone. `shares` is nonzero while the child shares the memory: the
 * system sets it to the child's number and clears it at the end. That also
 * works if the caller is killed on the way, and another process waits. A pidfd
 * uses the argument that would set `shares`: then the caller sets it, and the
 * caller itself waits. */
long clone_start(clone_t *self, uint64_t flags, int cgroup_fd,
                 int (*run)(void *), void *argument, int *ret_pidfd)
{
    long pid;

    flags |= CLONE_VM | CLONE_CHILD_CLEARTID;
    flags |= ret_pidfd != NULL ? CLONE_PIDFD : CLONE_PARENT_SETTID;
    if (ret_pidfd != NULL)
        self->shares = 1;
    if (cgroup_fd >= 0)
        pid = clone_into(self, flags, cgroup_fd, run, argument, ret_pidfd);
    else if ((pid = clone(run, (char *) self->stack + self->stack_size,
                          (int) flags | SIGCHLD, argument,
                          ret_pidfd != NULL ? ret_pidfd : &self->shares, NULL,
                          &self->shares))
             < 0)
        pid = -errno;
    if (pid < 0)
        self->shares = 0;
    return pid;
}

void clone_await(clone_t *self)
{
    int shares;

    while ((shares = __atomic_load_n(&self->shares, __ATOMIC_ACQUIRE)) != 0)
        syscall(SYS_futex, &self->shares, FUTEX_WAIT, shares, NULL, NULL, 0);
}

void clone_clear(clone_t *self)
{
    if (self->stack != NULL)
        munmap(self->stack, self->stack_size);
    self->stack = NULL;
}
