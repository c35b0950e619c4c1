/* Lines of a ZPL file (ZeroMQ RFC 4): four blanks a level, a name, perhaps
 * `= value`, `#` begins a comment. This sees form alone; which keys there are
 * is options.c's knowledge. */
#include "gateway/config/zpl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LEVEL_MAX 8
#define BLANKS    4    /* a level, as RFC 4 says */
#define LINE_MAX  1000 /* zconfig silently cuts a line at 1024 bytes */
#define KEY_MAX   64

typedef struct {
    const char *name; /* in the line */
    size_t name_size;
    size_t level;      /* 0: outermost */
    const char *value; /* in the line; NULL: none */
    size_t value_size; /* with what is behind it */
} line_t;

static const char name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz0123456789_-.";

/* The line's parts; false when it is blank or a comment. Form is not yet
 * checked: a wrong line has no name. */
static bool split(const char *text, size_t size, line_t *ret_line)
{
    size_t at = 0;

    while (at < size && text[at] == ' ')
        at++;
    if (at == size || text[at] == '#' || text[at] == '\r')
        return false;
    *ret_line = (line_t){.name = text + at, .level = at / BLANKS};
    while (at < size && text[at] && strchr(name_letters, text[at]))
        at++;
    ret_line->name_size = (size_t) (text + at - ret_line->name);
    while (at < size && text[at] == ' ')
        at++;
    if (at < size && text[at] == '=') {
        for (at++; at < size && text[at] == ' ';)
            at++;
        ret_line->value = text + at;
        ret_line->value_size = size - at;
    }
    return true;
}

/* What is wrong with a value; NULL: nothing. */
static const char *find_value_flaw(const line_t *line)
{
    const char *value = line->value;
    size_t size = line->value_size;

    if (size == 0 || value[0] == '#')
        return "a value is missing behind =";
    if (value[0] != '"' && value[0] != '\'')
        return NULL;
    const char *close = memchr(value + 1, value[0], size - 1);
    if (!close)
        return "the closing quote is missing";
    for (close++; close < value + size && *close != '#'; close++)
        if (*close != ' ' && *close != '\r')
            return "something stands behind the closing quote";
    return NULL;
}

/* What is wrong with a line; NULL: nothing. */
static const char *find_flaw(const line_t *line, const char *text, size_t size,
                             size_t level_max)
{
    size_t blanks = (size_t) (line->name - text);
    size_t name_size = line->name_size;
    const char *behind = line->name + name_size;

    if (line->name[0] == '\t')
        return "a tab: a level is four blanks";
    if (blanks % BLANKS || line->level > level_max)
        return "a level is four blanks more than the one around it";
    if (name_size == 0 || name_size > KEY_MAX)
        return "a name is 1 to 64 letters, digits, _ - .";
    if (line->value)
        return find_value_flaw(line);
    while (behind < text + size && (*behind == ' ' || *behind == '\r'))
        behind++;
    if (behind < text + size && *behind != '#')
        return "only = can stand behind a name";
    return NULL;
}

static size_t line_size(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    return end ? (size_t) (end - text) : size;
}

int zpl_check(const char *text, size_t size, fault_t *fault)
{
    size_t level_max = 0;
    unsigned number = 0;
    line_t line;

    for (size_t at = 0; at < size;) {
        const char *start = text + at;
        size_t length = line_size(start, size - at);

        at += length + 1;
        number++;
        if (memchr(start, '\0', length))
            return fault_set(fault, EINVAL, "%u: a NUL byte", number);
        if (length > LINE_MAX)
            return fault_set(fault, EINVAL, "%u: longer than %d bytes", number,
                             LINE_MAX);
        if (!split(start, length, &line))
            continue;
        const char *flaw = find_flaw(&line, start, length, level_max);
        if (flaw)
            return fault_set(fault, EINVAL, "%u: %s", number, flaw);
        level_max = line.value ? line.level : line.level + 1;
        if (level_max >= LEVEL_MAX)
            return fault_set(fault, EINVAL, "%u: too many levels", number);
    }
    return 0;
}

unsigned zpl_line(const char *text, const char *key)
{
    char path[LEVEL_MAX * (KEY_MAX + 2)] = "";
    size_t starts[LEVEL_MAX + 1] = {0};
    size_t size = strlen(text);
    unsigned number = 0;
    unsigned found = 0;
    line_t line;

    for (size_t at = 0; at < size;) {
        const char *start = text + at;
        size_t length = line_size(start, size - at);

        at += length + 1;
        number++;
        if (!split(start, length, &line) || line.level >= LEVEL_MAX)
            continue;
        int written = snprintf(
            path + starts[line.level], sizeof(path) - starts[line.level],
            "%s%.*s", line.level ? "/" : "", (int) line.name_size, line.name);
        starts[line.level + 1] = starts[line.level] + (size_t) written;
        if (strcmp(path, key) == 0)
            found = number;
    }
    return found;
}
