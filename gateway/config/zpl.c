/* Lines of a ZPL file (ZeroMQ RFC 4): four spaces for each level, a name, an
 * optional `= value`, and comments after `#`. This file knows only the form;
 * options.c knows the keys. czmq's reader accepts many mistakes silently and
 * has no line numbers, which people need. */
#include "gateway/config/zpl.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define LEVEL_MAX 8
#define BLANKS    4     /* a level, as RFC 4 says */
#define LINE_MAX  65536 /* a list of packages, each with its hashes */
#define KEY_MAX   64

#define TEXT_OF(number) #number
#define TEXT(number)    TEXT_OF(number)

typedef struct {
    const char *name; /* in the line */
    size_t name_size;
    bool is_bracketed; /* a [ precedes it */
    size_t level;      /* 0: outermost */
    const char *value; /* in the line; NULL: none */
    size_t value_size; /* including the rest of the line */
} zpl_line_t;

static const char name_letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                   "abcdefghijklmnopqrstuvwxyz0123456789_-.";

/* A section as in other formats, which is an error here. Its lines are read all
 * the same, so that its keys are not reported as wrong, too. */
static const char in_brackets[] =
    "a section is written without brackets, and its keys are indented by four "
    "spaces: see hearth.cfg(5)";

/* Splits a line into its parts; false if it is blank or a comment. Form is not
 * checked yet: a wrong line has no name. */
static bool split(const char *text, size_t size, zpl_line_t *ret_line)
{
    size_t at = 0;

    while (at < size && text[at] == ' ')
        at++;
    if (at == size || text[at] == '#' || text[at] == '\r')
        return false;
    *ret_line =
        (zpl_line_t){.level = at / BLANKS, .is_bracketed = text[at] == '['};
    at += ret_line->is_bracketed;
    ret_line->name = text + at;
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

/* Returns the flaw of a value; NULL if it has no flaw. */
static const char *find_value_flaw(const zpl_line_t *line)
{
    const char *value = line->value;
    size_t size = line->value_size;

    if (size == 0 || value[0] == '#')
        return "a value is missing after =";
    if (value[0] != '"' && value[0] != '\'')
        return NULL;
    const char *close = memchr(value + 1, value[0], size - 1);
    if (!close)
        return "the closing quote is missing";
    for (close++; close < value + size && *close != '#'; close++)
        if (*close != ' ' && *close != '\r')
            return "there is text after the closing quote";
    return NULL;
}

/* Returns the flaw of a line; NULL if it has no flaw. */
static const char *find_flaw(const zpl_line_t *line, const char *text,
                             size_t size, size_t level_max)
{
    size_t blanks = (size_t) (line->name - text) - line->is_bracketed;
    size_t name_size = line->name_size;
    const char *rest = line->name + name_size;

    if (line->name[0] == '\t')
        return "a tab: each level is indented by four spaces";
    if (blanks % BLANKS || line->level > level_max)
        return "each level is indented by four spaces more than the one around "
               "it";
    if (line->is_bracketed && name_size && name_size <= KEY_MAX)
        return in_brackets;
    if (name_size == 0 || name_size > KEY_MAX)
        return "a name is 1 to 64 letters, digits, _ - .";
    if (line->value)
        return find_value_flaw(line);
    while (rest < text + size && (*rest == ' ' || *rest == '\r'))
        rest++;
    if (rest < text + size && *rest != '#')
        return "only = can follow a name";
    return NULL;
}

static size_t line_size(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    return end ? (size_t) (end - text) : size;
}

/* Returns the value without quotes or without a comment after it; the caller
 * frees it. */
static char *copy_value(const zpl_line_t *line)
{
    const char *value = line->value;
    size_t size = line->value_size;

    if (value[0] == '"' || value[0] == '\'') {
        const char *close = memchr(value + 1, value[0], size - 1);

        return mem_copy(value + 1, (size_t) (close - value - 1));
    }
    const char *comment = memchr(value, '#', size);
    if (comment)
        size = (size_t) (comment - value);
    while (size && isspace((unsigned char) value[size - 1]))
        size--;
    return mem_copy(value, size);
}

typedef struct {
    char path[LEVEL_MAX * (KEY_MAX + 2)];
    size_t starts[LEVEL_MAX + 1]; /* of each level's name in it */
    size_t level_max;             /* of the next line */
} zpl_position_t;

/* Makes the line's name the end of the path. */
static void descend(zpl_position_t *place, const zpl_line_t *line)
{
    size_t start = place->starts[line->level];
    int size =
        snprintf(place->path + start, sizeof place->path - start, "%s%.*s",
                 line->level ? "/" : "", (int) line->name_size, line->name);

    place->starts[line->level + 1] = start + (size_t) size;
    place->level_max = line->value ? line->level : line->level + 1;
}

static const char *find_line_flaw(const char *start, size_t length)
{
    if (memchr(start, '\0', length))
        return "a NUL byte";
    if (length > LINE_MAX)
        return "longer than " TEXT(LINE_MAX) " bytes";
    return NULL;
}

static void read_line(const char *start, size_t length, zpl_position_t *place,
                      zpl_visit_fn *visit, zpl_item_t *item, void *arg)
{
    cleanup_free char *value = NULL;
    zpl_line_t line;

    item->flaw = find_line_flaw(start, length);
    if (!item->flaw) {
        if (!split(start, length, &line))
            return;
        item->flaw = find_flaw(&line, start, length, place->level_max);
    }
    if (!item->flaw && line.level + !line.value >= LEVEL_MAX)
        item->flaw = "too many levels";
    if (!item->flaw || item->flaw == in_brackets)
        descend(place, &line);
    if (!item->flaw && line.value)
        value = copy_value(&line);
    item->value = value;
    visit(arg, item);
}

void zpl_read(const char *text, size_t size, zpl_visit_fn *visit, void *arg)
{
    zpl_position_t place = {.path = ""};
    zpl_item_t item = {.path = place.path};

    for (size_t at = 0; at < size;) {
        size_t length = line_size(text + at, size - at);

        item.line++;
        read_line(text + at, length, &place, visit, &item, arg);
        at += length + 1;
    }
}
