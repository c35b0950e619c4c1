/* The words that stand for values in the commands' tables. */
#include "gateway/cli/core/option_types.h"

#include "base/buffer.h"
#include "base/units.h"

#include <ctype.h>
#include <string.h>

#define TIME_MAX_MS UINT64_C(1000000000000) /* some 31 years */

bool option_types_seconds(const char *text, double *ret_seconds)
{
    uint64_t ms;

    if (!units_duration(text, &ms) || ms > TIME_MAX_MS)
        return false;
    *ret_seconds = (double) ms / 1000;
    return true;
}

static bool is_time(const char *text)
{
    double seconds;

    return option_types_seconds(text, &seconds);
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
    option_types_source_t source;
    bool (*is_good)(const char *text); /* NULL: any value is good */
    const char *expected;              /* the sentence if it is not good */
} value_word_t;

static const value_word_t kinds[] = {
    {"TIME", OPTION_TYPE_ANY, is_time, "a time (90s, 20m, 2h, 1d)"},
    {"NUMBER", OPTION_TYPE_ANY, is_number, "a whole number"},
    {"KEY=VALUE", OPTION_TYPE_ANY, is_pair, "of the form key=value"},
    {"FILE", OPTION_TYPE_FILES, NULL, NULL},
    {"DIR", OPTION_TYPE_FOLDERS, NULL, NULL},
    {"ID", OPTION_TYPE_SESSIONS, NULL, NULL},
    {"REF", OPTION_TYPE_OUTPUTS, NULL, NULL},
    {"PROCESS", OPTION_TYPE_PROGRAMS, NULL, NULL},
};

static const value_word_t *find_kind(const char *word, size_t size)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i].word) == size
            && memcmp(kinds[i].word, word, size) == 0)
            return &kinds[i];
    return NULL;
}

/* Returns true for "auto|never": the words themselves are the values. */
static bool is_choice(const char *word, size_t size)
{
    return memchr(word, '|', size) && islower((unsigned char) *word);
}

option_types_source_t option_types_source(const char *word, size_t size)
{
    const char *end = word + size;

    if (is_choice(word, size))
        return OPTION_TYPE_WORDS;
    while (word < end) {
        const char *bar = memchr(word, '|', (size_t) (end - word));
        size_t length = (size_t) ((bar ? bar : end) - word);
        const value_word_t *kind = find_kind(word, length);

        if (kind)
            return kind->source;
        word += length + 1;
    }
    return OPTION_TYPE_ANY;
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

char *option_types_fault(const char *word, const char *text)
{
    const value_word_t *kind = find_kind(word, strlen(word));

    if (is_choice(word, strlen(word)) && !is_among(word, text))
        return mem_format("one of %s", word);
    return kind && kind->is_good && !kind->is_good(text)
               ? mem_text(kind->expected)
               : NULL;
}
