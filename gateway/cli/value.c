/* The words that stand for values in the commands' tables. */
#include "gateway/cli/value.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 120 /* of "one of ...", for a message */

bool value_seconds(const char *text, double *ret_seconds)
{
    double seconds, unit = 1;
    char *end;

    errno = 0;
    seconds = strtod(text, &end);
    if (errno || end == text || !(seconds >= 0) || seconds > 1e9)
        return false;
    if (*end == 'm')
        unit = 60;
    else if (*end == 'h')
        unit = 3600;
    else if (*end == 'd')
        unit = 86400;
    if (unit > 1 || *end == 's')
        end++;
    if (*end)
        return false;
    *ret_seconds = seconds * unit;
    return true;
}

static bool is_time(const char *text)
{
    double seconds;

    return value_seconds(text, &seconds);
}

static bool is_number(const char *text)
{
    return *text && strlen(text) <= 18 && !text[strspn(text, "0123456789")];
}

static bool is_pair(const char *text)
{
    return strchr(text, '=') > text;
}

typedef struct {
    const char *word;
    value_source_t source;
    bool (*is_good)(const char *text); /* NULL: whatever is there */
    const char *expected;              /* what it is not, when it is not good */
} kind_t;

static const kind_t kinds[] = {
    {"TIME", VALUE_ANY, is_time, "a time (90s, 20m, 2h, 1d)"},
    {"NUMBER", VALUE_ANY, is_number, "a whole number"},
    {"KEY=VALUE", VALUE_ANY, is_pair, "of the form key=value"},
    {"FILE", VALUE_FILES, NULL, NULL},
    {"DIR", VALUE_FOLDERS, NULL, NULL},
    {"ID", VALUE_SESSIONS, NULL, NULL},
};

static const kind_t *find_kind(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == size
            && memcmp(kinds[i].word, word, size) == 0)
            return &kinds[i];
    return NULL;
}

/* "auto|never": the words themselves are the values. */
static bool is_choice(const char *word, size_t size)
{
    return memchr(word, '|', size) && islower((unsigned char) *word);
}

value_source_t value_source(const char *word, size_t size)
{
    const char *end = word + size;

    if (is_choice(word, size))
        return VALUE_WORDS;
    while (word < end) {
        const char *bar = memchr(word, '|', (size_t) (end - word));
        size_t length = (size_t) ((bar ? bar : end) - word);
        const kind_t *kind = find_kind(word, length);

        if (kind)
            return kind->source;
        word += length + 1;
    }
    return VALUE_ANY;
}

static bool is_among(const char *words, const char *text)
{
    size_t size = strlen(text);

    for (; *words; words += *words == '|') {
        size_t length = strcspn(words, "|");

        if (length == size && memcmp(words, text, size) == 0)
            return true;
        words += length;
    }
    return false;
}

const char *value_fault(const char *word, const char *text)
{
    static char expected[WORDS_MAX];
    const kind_t *kind = find_kind(word, strlen(word));

    if (is_choice(word, strlen(word)) && !is_among(word, text)) {
        snprintf(expected, sizeof expected, "one of %s", word);
        return expected;
    }
    return kind && kind->is_good && !kind->is_good(text) ? kind->expected
                                                         : NULL;
}
