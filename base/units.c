/* See units.h. Plain functions over text; any thread. */
#include "base/units.h"

#include <ctype.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Reads digits, at most `fraction` of them after a point, in units of
 * 10^-fraction. Returns the rest of the text; NULL if it is no number or too
 * large a one. */
static const char *parse_digits(const char *text, int fraction,
                                uint64_t *ret_value)
{
    uint64_t value = 0;
    bool is_behind = false;

    if (!isdigit((unsigned char) *text))
        return NULL;
    for (; isdigit((unsigned char) *text) || (*text == '.' && !is_behind);
         text++) {
        if (*text == '.') {
            if (!fraction || !isdigit((unsigned char) text[1]))
                return NULL;
            is_behind = true;
            continue;
        }
        if ((is_behind && fraction-- == 0) || value > UINT64_MAX / 100)
            return NULL;
        value = value * 10 + (uint64_t) (*text - '0');
    }
    while (fraction-- > 0) {
        if (value > UINT64_MAX / 100)
            return NULL;
        value *= 10;
    }
    *ret_value = value;
    return text;
}

typedef struct {
    const char *suffix;
    uint64_t factor;
} unit_t;

static const unit_t durations[] = {
    {"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"", 1},
};
static const unit_t sizes[] = {
    {"T", TIB}, {"G", GIB}, {"M", MIB}, {"K", KIB}, {"", 1},
};
static const unit_t plain[] = {{"", 1}};

static bool parse_quantity(const char *text, const unit_t *units, size_t count,
                           int fraction, uint64_t *ret_value)
{
    uint64_t value;
    const char *suffix = parse_digits(text, fraction, &value);

    for (size_t i = 0; suffix && i < count; i++) {
        if (strcmp(suffix, units[i].suffix) != 0)
            continue;
        if (value > UINT64_MAX / units[i].factor)
            return false;
        *ret_value = value * units[i].factor;
        return true;
    }
    return false;
}

bool units_duration(const char *text, uint64_t *ret_ms)
{
    return parse_quantity(text, durations, sizeof durations / sizeof *durations,
                          3, ret_ms);
}

bool units_size(const char *text, uint64_t *ret_bytes)
{
    return parse_quantity(text, sizes, sizeof sizes / sizeof *sizes, 0,
                          ret_bytes);
}

bool units_number(const char *text, uint64_t *ret_value)
{
    return parse_quantity(text, plain, 1, 0, ret_value);
}

/* Writes the value in the largest unit that divides it; 0 has no unit. */
static void write_quantity(uint64_t value, const unit_t *units, char *ret_text,
                           size_t size)
{
    while (units->factor > 1 && value % units->factor)
        units++;
    snprintf(ret_text, size, "%" PRIu64 "%s", value / units->factor,
             value ? units->suffix : "");
}

void units_write_duration(uint64_t ms, char *ret_text, size_t size)
{
    if (ms % 1000)
        snprintf(ret_text, size, "%" PRIu64 ".%03" PRIu64 "s", ms / 1000,
                 ms % 1000);
    else
        write_quantity(ms / 1000, durations, ret_text, size);
}

void units_write_size(uint64_t bytes, char *ret_text, size_t size)
{
    write_quantity(bytes, sizes, ret_text, size);
}

void units_say_size(uint64_t bytes, char *ret_text, size_t size)
{
    if (bytes >= GIB && bytes % GIB == 0)
        snprintf(ret_text, size, "%" PRIu64 " GiB", bytes / GIB);
    else
        snprintf(ret_text, size, "%" PRIu64 " MiB", bytes / MIB);
}
