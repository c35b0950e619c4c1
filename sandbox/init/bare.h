/* Replaces the C library for pid 1: its entry point, system calls, and the
 * functions that a compiler calls by itself. Included only by init.c. A static
 * program with glibc 2.36 queries the processor's features at its start
 * (CPUID). A virtual machine answers that in software, which took 0.3 of 0.4 ms
 * on one. And code that is absent cannot be exploited. Nothing here needs
 * relocation: the program may be loaded anywhere, and there is no loader that
 * would relocate it. */
#ifndef HEARTH_SANDBOX_INIT_BARE_H
#define HEARTH_SANDBOX_INIT_BARE_H

#include <stddef.h>
#include <stdint.h>

/* Runs the program with the stack that the system prepared: the number of
 * arguments, the arguments, NULL. */
_Noreturn void bare_main(const long *stack) __attribute__((used));

#if defined __x86_64__
__asm__(".pushsection .text\n"
        ".globl _start\n"
        "_start:\n\t"
        "xor %ebp, %ebp\n\t"
        "mov %rsp, %rdi\n\t"
        "and $-16, %rsp\n\t"
        "call bare_main\n\t"
        "ud2\n"
        ".popsection");
#elif defined __aarch64__
__asm__(".pushsection .text\n"
        ".globl _start\n"
        "_start:\n\t"
        "mov x29, #0\n\t"
        "mov x30, #0\n\t"
        "mov x0, sp\n\t"
        "bl bare_main\n\t"
        "brk #1\n"
        ".popsection");
#else
#error how does a program begin here?
#endif

/* Makes a system call with up to six arguments; returns its result or -errno.
 */
static inline long call(long number, long a, long b, long c, long d, long e,
                        long f)
{
#if defined __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
                       "r"(r9)
                     : "rcx", "r11", "memory");
    return r;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
#endif
}

#define CALL1(n, a)       call((n), (long) (a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b)    call((n), (long) (a), (long) (b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) call((n), (long) (a), (long) (b), (long) (c), 0, 0, 0)
#define CALL4(n, a, b, c, d)                                                   \
    call((n), (long) (a), (long) (b), (long) (c), (long) (d), 0, 0)
#define CALL5(n, a, b, c, d, e)                                                \
    call((n), (long) (a), (long) (b), (long) (c), (long) (d), (long) (e), 0)
#define CALL6(n, a, b, c, d, e, f)                                             \
    call((n), (long) (a), (long) (b), (long) (c), (long) (d), (long) (e),      \
         (long) (f))

/* Copy and fill memory. A compiler may put calls of these functions where the
 * source has a loop or an assignment. */
void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);

void *memcpy(void *to, const void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile char *) to)[i] = ((const char *) from)[i];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile char *) to)[i] = (char) byte;
    return to;
}

/* A line of text that is built in a buffer; what does not fit is cut. */
typedef struct {
    char *at;  /* where the next character goes */
    char *end; /* after the last place, which is for the zero */
} text_t;

static inline text_t text_begin(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return (text_t){buffer, buffer + size - 1};
}

static inline void text_add(text_t *self, const char *words)
{
    for (; *words != '\0' && self->at < self->end; words++)
        *self->at++ = *words;
    *self->at = '\0';
}

static inline void text_number(text_t *self, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t left = number < 0 ? 0 - (uint64_t) number : (uint64_t) number;

    digits[at] = '\0';
    do
        digits[--at] = (char) ('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0)
        digits[--at] = '-';
    text_add(self, digits + at);
}

/* Reads the decimal number that the launch wrote. */
static inline int number_of(const char *digits)
{
    int number = 0;

    for (; *digits >= '0' && *digits <= '9'; digits++)
        number = number * 10 + (*digits - '0');
    return number;
}

#endif
