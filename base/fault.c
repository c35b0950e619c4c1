/* A failure as plain data. Nothing here allocates: a fault is also made where
 * memory is short, and between fork and exec. */
#include "base/fault.h"

#include "base/utf8.h"

/* The plain functions: the analyzer sees macros of the same names. */
#undef fault_set
#undef fault_errno
#undef fault_wrap

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

int fault_set(fault_t *fault, int code, const char *format, ...)
{
    /* Formatted into a copy, because the arguments may include the old text.
     * One byte more shows whether the cut tears a character: faults are written
     * into JSON. */
    char text[sizeof fault->text + 1] = "";
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (length < 0)
        text[0] = '\0';
    else if ((size_t) length >= sizeof fault->text)
        text[utf8_cut(text, sizeof fault->text - 1)] = '\0';

    memcpy(fault->text, text, sizeof fault->text);
    fault->code = code;
    return -code;
}

int fault_errno(fault_t *fault, const char *what)
{
    int code = errno;

    return fault_set(fault, code, "%s: %s", what, strerror(code));
}

int fault_wrap(fault_t *fault, const char *format, ...)
{
    char before[sizeof fault->text];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(before, sizeof before, format, args);
    va_end(args);
    if (length < 0)
        before[0] = '\0';
    fault_t inner = *fault;
    return fault_set(fault, inner.code, "%s: %s", before, inner.text);
}
