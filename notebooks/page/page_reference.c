/* See page_reference.h. */
#include "notebooks/page/page_reference.h"

#include "base/hex.h"
#include "base/utf8.h"
#include "notebooks/page/page_text.h"

#include <stdbool.h>
#include <string.h>

#define NAME_MAX_BYTES 8
#define CODE_MAX       0x10FFFFu

/* Characters that one can see, and the blank that does not break. */
static const char *const names[] = {
    "amp",    "lt",     "gt",    "quot",   "apos",   "nbsp",  "copy",   "reg",
    "deg",    "plusmn", "times", "divide", "middot", "bull",  "hellip", "ndash",
    "mdash",  "lsquo",  "rsquo", "ldquo",  "rdquo",  "laquo", "raquo",  "larr",
    "rarr",   "uarr",   "darr",  "harr",   "le",     "ge",    "ne",     "asymp",
    "minus",  "micro",  "sup2",  "sup3",   "frac12", "euro",  "pound",  "cent",
    "yen",    "sect",   "para",  "alpha",  "beta",   "gamma", "delta",  "Delta",
    "lambda", "mu",     "pi",    "sigma",  "Sigma",  "omega", "infin",  "sum",
    "radic",  "check",
};

static bool is_name(const char *at, size_t size)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == size && memcmp(names[i], at, size) == 0)
            return true;
    return false;
}

/* Reads what follows "&#"; returns where it ends, `at` if it is no number. */
static const char *read_number(const char *at, const char *end,
                               uint32_t *ret_code)
{
    bool is_hex = at < end && (*at == 'x' || *at == 'X');
    int base = is_hex ? 16 : 10;
    const char *digits = at + is_hex, *to = digits;
    uint32_t code = 0;

    for (; to < end; to++) {
        int value = hex_value(*to);
        if (value < 0 || value >= base)
            break;
        if (code <= CODE_MAX)
            code = code * (uint32_t) base + (uint32_t) value;
    }
    if (to == digits)
        return at;
    *ret_code = code == 0 || code > CODE_MAX || (code >> 11) == 0x1B
                    ? UTF8_REPLACEMENT
                    : code;
    return to < end && *to == ';' ? to + 1 : to;
}

/* Appends what begins with the "&" at `at`; returns where it ends. */
static const char *write_reference(const char *at, const char *end,
                                   buffer_t *out)
{
    size_t room = (size_t) (end - at) - 1;
    const char *semicolon =
        memchr(at + 1, ';', room < NAME_MAX_BYTES ? room : NAME_MAX_BYTES);
    uint32_t code = 0;

    if (room && at[1] == '#') {
        const char *to = read_number(at + 2, end, &code);
        if (to > at + 2) {
            page_text_character(code, out);
            return to;
        }
    } else if (semicolon && is_name(at + 1, (size_t) (semicolon - at) - 1)) {
        buffer_append(out, at, (size_t) (semicolon - at) + 1);
        return semicolon + 1;
    }
    buffer_text(out, "&amp;");
    return at + 1;
}

void page_reference_text(bytes_t text, buffer_t *out)
{
    const char *at = text.size ? text.bytes : "", *end = at + text.size;

    while (at < end) {
        const char *mark = memchr(at, '&', (size_t) (end - at));
        const char *stop = mark ? mark : end;
        page_text((bytes_t){at, (size_t) (stop - at)}, out);
        at = mark ? write_reference(mark, end, out) : end;
    }
}
