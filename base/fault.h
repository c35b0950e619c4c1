/* A failure as plain data: what the system said, and what we were doing to
 * what. 256 bytes, no pointers, so that it crosses a pipe as one record. */
#ifndef HEARTH_BASE_FAULT_H
#define HEARTH_BASE_FAULT_H

typedef struct {
    int code;       /* positive errno value; 0 when unset */
    char text[252]; /* a sentence without a full stop */
} fault_t;

/* Sets the code and the text; a text that does not fit is cut. Returns -code,
 * so that a failure is one line: `return fault_set(...)`. */
int fault_set(fault_t *fault, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets "<what>: <what errno says>" and returns -errno. */
int fault_errno(fault_t *fault, const char *what);

/* Puts "<format>: " before the text that is there. Returns -code. */
int fault_wrap(fault_t *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* clang's analyzer reads one file at a time. Without this it would follow a
 * path on which a failure returns 0. */
#ifdef __clang_analyzer__
static inline int fault_is_negative(int code)
{
    if (code >= 0)
        __builtin_unreachable();
    return code;
}
#define fault_set(...)   fault_is_negative(fault_set(__VA_ARGS__))
#define fault_errno(...) fault_is_negative(fault_errno(__VA_ARGS__))
#define fault_wrap(...)  fault_is_negative(fault_wrap(__VA_ARGS__))
#endif

#endif
