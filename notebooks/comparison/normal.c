/* Text without what differs from run to run: each such run of characters is
 * replaced by a word in angle brackets. Hand-written, since it looks at every
 * character of every output. */
#include "notebooks/comparison/compare.h"

#include <ctype.h>
#include <string.h>

/* The text that is looked at, and a place in it. */
typedef struct {
    const char *text;
    size_t size;
} text_view_t;

static char at(text_view_t view, size_t i)
{
    return i < view.size ? view.text[i] : '\0';
}

static size_t digits(text_view_t view, size_t i)
{
    size_t start = i;

    while (isdigit((unsigned char) at(view, i)))
        i++;
    return i - start;
}

static size_t hexes(text_view_t view, size_t i)
{
    size_t start = i;

    while (isxdigit((unsigned char) at(view, i)))
        i++;
    return i - start;
}

/* Each gives the size of what begins at `i`, 0 when nothing does. */

static size_t escape(text_view_t view, size_t i)
{
    size_t start = i;

    if (at(view, i) != '\033')
        return 0;
    if (at(view, i + 1) != '[')
        return 1;
    for (i += 2; i < view.size && ((unsigned char) at(view, i) & 0xc0) != 0x40;)
        i++;
    return i - start + 1;
}

static size_t address(text_view_t view, size_t i)
{
    size_t count;

    if (at(view, i) != '0' || at(view, i + 1) != 'x')
        return 0;
    count = hexes(view, i + 2);
    return count >= 6 ? 2 + count : 0;
}

/* Measures an identifier: 8-4-4-4-12, or 32 and more hexadecimal digits in a
 * row. */
static size_t identifier(text_view_t view, size_t i)
{
    static const size_t groups[] = {8, 4, 4, 4, 12};
    size_t start = i;

    size_t run = hexes(view, i);
    if (run >= 32)
        return run;
    for (size_t g = 0; g < 5; g++) {
        if (hexes(view, i) != groups[g]
            || (g < 4 && at(view, i + groups[g]) != '-'))
            return 0;
        i += groups[g] + (g < 4);
    }
    return i - start;
}

static size_t clock_time(text_view_t view, size_t i)
{
    size_t start = i;

    if (digits(view, i) != 2 || at(view, i + 2) != ':'
        || digits(view, i + 3) != 2)
        return 0;
    i += 5;
    if (at(view, i) == ':' && digits(view, i + 1) == 2)
        i += 3;
    if (at(view, i) == '.' && digits(view, i + 1))
        i += 1 + digits(view, i + 1);
    if (at(view, i) == 'Z')
        return i - start + 1;
    if ((at(view, i) == '+' || at(view, i) == '-') && digits(view, i + 1) == 2
        && at(view, i + 3) == ':' && digits(view, i + 4) == 2)
        i += 6;
    return i - start;
}

/* Measures a date with a time of day, which is when the code ran. A date alone
 * may be data. */
static size_t moment(text_view_t view, size_t i)
{
    size_t time;

    if (digits(view, i) != 4 || at(view, i + 4) != '-'
        || digits(view, i + 5) != 2 || at(view, i + 7) != '-'
        || digits(view, i + 8) != 2)
        return 0;
    if (at(view, i + 10) != 'T' && at(view, i + 10) != ' ')
        return 0;
    time = clock_time(view, i + 11);
    return time ? 11 + time : 0;
}

static const char *const units[] = {
    "ns",  "\xc2\xb5s", "\xce\xbcs", "us",      "ms", "s",
    "sec", "secs",      "min",       "seconds", NULL,
};

/* Measures a number and a unit of time: "351 ns", "1.5s/it", "2min 3s". */
static size_t duration(text_view_t view, size_t i)
{
    size_t number = digits(view, i);

    if (!number)
        return 0;
    if (at(view, i + number) == '.')
        number += 1 + digits(view, i + number + 1);
    size_t unit = i + number + (at(view, i + number) == ' ');
    for (const char *const *name = units; *name; name++) {
        size_t width = strlen(*name);
        if (unit + width <= view.size
            && memcmp(view.text + unit, *name, width) == 0
            && !isalnum((unsigned char) at(view, unit + width))
            && at(view, unit + width) != '_')
            return unit + width - i;
    }
    return 0;
}

static bool follows(text_view_t view, size_t i, const char *word)
{
    size_t width = strlen(word);

    return i + width <= view.size && memcmp(view.text + i, word, width) == 0;
}

/* Measures how fast something went: "85.97it/s", "1.2s/it", "3.4MB/s". */
static size_t rate(text_view_t view, size_t i)
{
    static const char *const names[] = {"it/s",  "s/it",  "B/s",  "kB/s",
                                        "KB/s",  "MB/s",  "GB/s", "KiB/s",
                                        "MiB/s", "GiB/s", NULL};
    size_t number = digits(view, i);

    if (!number)
        return 0;
    if (at(view, i + number) == '.')
        number += 1 + digits(view, i + number + 1);
    size_t unit = i + number + (at(view, i + number) == ' ');
    for (const char *const *name = names; *name; name++)
        if (follows(view, unit, *name))
            return unit + strlen(*name) - i;
    return 0;
}

/* Measures "1,000,000 loops each": as many as %timeit took for long enough. */
static size_t loops(text_view_t view, size_t i)
{
    size_t size = 0;

    while (isdigit((unsigned char) at(view, i + size))
           || (size && at(view, i + size) == ','))
        size++;
    return size && follows(view, i + size, " loop") ? size : 0;
}

/* Measures a cell's file of IPython before 8:
 * "<ipython-input-10-0123456789ab>". */
static size_t old_cell(text_view_t view, size_t i)
{
    static const char prefix[] = "<ipython-input-";
    size_t size = sizeof prefix - 1;

    if (!follows(view, i, prefix))
        return 0;
    while (isalnum((unsigned char) at(view, i + size))
           || at(view, i + size) == '-')
        size++;
    return at(view, i + size) == '>' ? size + 1 : 0;
}

/* Measures a cell's file without its folder: "859882524.py, line 1". */
static size_t cell_file(text_view_t view, size_t i)
{
    size_t number = digits(view, i);

    return number >= 4 && follows(view, i + number, ".py") ? number : 0;
}

/* Measures a name that contains a random or a running number. */
static size_t made_up(text_view_t view, size_t i)
{
    static const char temporary[] = "/tmp/ipykernel_";
    size_t width = sizeof temporary - 1;

    if (follows(view, i, temporary)) {
        width += digits(view, i + width);
        if (at(view, i + width) == '/')
            width += 1 + digits(view, i + width + 1);
        return width;
    }
    /* The ids that pandas gives to styled tables. */
    if (at(view, i) == 'T' && at(view, i + 1) == '_' && hexes(view, i + 2) == 5)
        return 7;
    return 0;
}

static const struct {
    size_t (*find)(text_view_t view, size_t i);
    const char *word;
} forms[] = {
    {address, "<address>"},   {identifier, "<id>"}, {moment, "<time>"},
    {clock_time, "<time>"},   {rate, "<rate>"},     {loops, "<count>"},
    {duration, "<duration>"}, {made_up, "<name>"},  {cell_file, "<name>"},
    {old_cell, "<name>.py"},
};

static size_t find_form(text_view_t view, size_t i, const char **ret_word)
{
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        size_t size = forms[f].find(view, i);
        if (!size)
            continue;
        *ret_word = forms[f].word;
        return size;
    }
    return 0;
}

/* Returns true if a form may begin here: not in the middle of a word or of a
 * number. */
static bool is_boundary(text_view_t view, size_t i)
{
    unsigned char before = i ? (unsigned char) view.text[i - 1] : ' ';

    return !isalnum(before) && before != '_' && before != '.';
}

/* Measures carriage returns in a row, which do what one does. */
static size_t returns(text_view_t view, size_t i)
{
    size_t start = i;

    while (at(view, i) == '\r')
        i++;
    return i - start;
}

void normal_text(const char *text, size_t size, buffer_t *out)
{
    text_view_t view = {text, size};
    size_t line = out->size;
    const char *word = NULL;

    for (size_t i = 0; i < size;) {
        size_t skip = escape(view, i);
        if (skip) {
            i += skip;
            continue;
        }
        skip = is_boundary(view, i) ? find_form(view, i, &word) : 0;
        if (skip) {
            buffer_text(out, word);
            i += skip;
            continue;
        }
        /* A carriage return removes the line before it, as on a terminal,
         * unless the line ends there. */
        skip = returns(view, i);
        if (skip) {
            i += skip;
            if (i < size && text[i] != '\n')
                out->size = line;
            continue;
        }
        buffer_append(out, text + i, 1);
        if (text[i] == '\n')
            line = out->size;
        i++;
    }
    while (out->size > line && isspace(out->data[out->size - 1]))
        out->size--;
}
