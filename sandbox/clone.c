/* clone3(2) with a stack and a function, which the C library does not offer:
 * only by it a child is born in a control group of version 2. Later it could
 * only be moved, which makes the whole machine's forks wait. */
#include "sandbox/internal.h"

#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

/* The child begins on its own stack, on which there is nothing to return to:
 * it must get from registers what it calls. */
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

long clone_run(const clone_t *self)
{
    struct clone_args args;

    memset(&args, 0, sizeof args);
    args.flags = self->flags | CLONE_INTO_CGROUP;
    args.pidfd = (uint64_t) (uintptr_t) self->ret_pidfd;
    args.child_tid = (uint64_t) (uintptr_t) self->cleared;
    args.exit_signal = SIGCHLD;
    args.stack = (uint64_t) (uintptr_t) self->stack;
    args.stack_size = self->stack_size;
    args.cgroup = (uint64_t) self->cgroup_fd;
    return clone_and_run(&args, sizeof args, self->run, self->argument);
}
