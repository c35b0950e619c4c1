/* See text.h. Strings are most of a notebook: characters without an escape
 * are checked 8 bytes at a time and copied once. */
#include "notebooks/json/text.h"

#include "base/hex.h"
#include "base/json_plain.h"
#include "base/utf8.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEPTH_MAX  2048 /* as jansson's own reader */
#define INT_DIGITS 18   /* numbers of this length always fit into 64 bits */

/* A multiple of every page's size. */
#define RELEASE_STEP (4u << 20)

void json_text_init(json_text_t *self, const char *text, size_t size)
{
    bool has_mark = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0;

    *self = (json_text_t){
        .text = text, .at = text + (has_mark ? 3 : 0), .end = text + size};
}

void json_text_clear(json_text_t *self)
{
    buffer_reset(&self->scratch);
}

static bool refuse(json_text_t *self, const char *flaw)
{
    self->flaw = flaw;
    return false;
}

static void skip_space(json_text_t *self)
{
    while (self->at < self->end
           && (*self->at == ' ' || *self->at == '\n' || *self->at == '\r'
               || *self->at == '\t'))
        self->at++;
}

bool json_text_take(json_text_t *self, char byte)
{
    skip_space(self);
    if (self->at == self->end || *self->at != byte)
        return false;
    self->at++;
    return true;
}

void json_text_release(json_text_t *self)
{
    if (!self->kept || self->at < self->kept + RELEASE_STEP)
        return;
    size_t size =
        (size_t) (self->at - self->kept) / RELEASE_STEP * RELEASE_STEP;
    (void) madvise((void *) (uintptr_t) self->kept, size, MADV_DONTNEED);
    self->kept += size;
}

/* ---- strings ---- */

/* Passes over letters that stand for themselves, up to a quote or a backslash.
 */
static bool skip_letters(json_text_t *self)
{
    for (;;) {
        self->at = json_plain(self->at, self->end);
        if (self->at == self->end)
            return refuse(self, "a string has no end");
        uint8_t byte = (uint8_t) *self->at;
        if (byte == '"' || byte == '\\')
            return true;
        if (byte < ' ')
            return refuse(self, "a string has a control character");
        size_t size = byte < 0x80 ? 1 : utf8_size(self->at, self->end);
        if (!size)
            return refuse(self, "a byte is not UTF-8");
        self->at += size;
    }
}

/* Reads the digits after \u. Half of a surrogate pair, which UTF-8 cannot
 * encode, becomes U+FFFD. */
static bool take_unicode(json_text_t *self)
{
    int unit = hex_unit(self->at, self->end);
    uint32_t code = (uint32_t) unit;

    if (unit < 0)
        return refuse(self, "four hexadecimal digits are missing after \\u");
    self->at += 4;
    if (code >= 0xd800 && code < 0xe000) {
        int low = self->end - self->at >= 6 && self->at[0] == '\\'
                          && self->at[1] == 'u'
                      ? hex_unit(self->at + 2, self->end)
                      : -1;
        bool is_pair = code < 0xdc00 && low >= 0xdc00 && low < 0xe000;
        self->at += is_pair ? 6 : 0;
        code = is_pair ? 0x10000 + ((code - 0xd800) << 10)
                             + ((uint32_t) low - 0xdc00)
                       : UTF8_REPLACEMENT;
    }
    utf8_append(&self->scratch, code);
    return true;
}

static bool take_escape(json_text_t *self)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    const char *letter;

    self->at++;
    if (self->at == self->end)
        return refuse(self, "a string has no end");
    if (*self->at == 'u') {
        self->at++;
        return take_unicode(self);
    }
    letter = *self->at ? strchr(letters, *self->at) : NULL;
    if (!letter)
        return refuse(self, "an escape is unknown");
    buffer_append(&self->scratch, meant + (letter - letters), 1);
    self->at++;
    return true;
}

/* Reads the rest of a string after its opening quote. *ret_text is lent: from
 * the text itself, or from the scratch buffer until the next string. */
static bool read_string(json_text_t *self, const char **ret_text,
                        size_t *ret_size)
{
    const char *first = self->at;

    if (!skip_letters(self))
        return false;
    if (*self->at == '"') {
        *ret_text = first;
        *ret_size = (size_t) (self->at++ - first);
        return true;
    }
    buffer_clear(&self->scratch);
    while (*self->at != '"') {
        buffer_append(&self->scratch, first, (size_t) (self->at - first));
        if (!take_escape(self))
            return false;
        json_text_release(self);
        first = self->at;
        if (!skip_letters(self))
            return false;
    }
    buffer_append(&self->scratch, first, (size_t) (self->at++ - first));
    *ret_text = (const char *) self->scratch.data;
    *ret_size = self->scratch.size;
    return true;
}

char *json_text_key(json_text_t *self)
{
    const char *text;
    size_t size;

    if (!json_text_take(self, '"')) {
        refuse(self, "a name in quotes is missing");
        return NULL;
    }
    if (!read_string(self, &text, &size))
        return NULL;
    if (memchr(text, '\0', size)) {
        refuse(self, "a name has a NUL");
        return NULL;
    }
    cleanup_free char *key = mem_copy(text, size);
    if (json_text_take(self, ':'))
        return take_ptr(key);
    refuse(self, "a colon is missing");
    return NULL;
}

/* ---- numbers ---- */

static size_t count_digits(const char *at, const char *end)
{
    size_t count = 0;

    while (at + count < end && at[count] >= '0' && at[count] <= '9')
        count++;
    return count;
}

/* Returns the place after the number that begins at `at`, or NULL. */
static const char *number_end(const char *at, const char *end, bool *ret_is_int)
{
    size_t digits;

    *ret_is_int = true;
    at += at < end && *at == '-';
    digits = count_digits(at, end);
    if (!digits || (digits > 1 && *at == '0'))
        return NULL;
    at += digits;
    if (at < end && *at == '.') {
        *ret_is_int = false;
        digits = count_digits(++at, end);
        if (!digits)
            return NULL;
        at += digits;
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        *ret_is_int = false;
        at++;
        at += at < end && (*at == '+' || *at == '-');
        digits = count_digits(at, end);
        if (!digits)
            return NULL;
        at += digits;
    }
    return at;
}

static json_t *read_word(json_text_t *self)
{
    static const struct {
        const char *word;
        json_t *(*make)(void);
    } words[] = {{"true", json_true}, {"false", json_false},
                 {"null", json_null}, {"NaN", NULL},
                 {"Infinity", NULL},  {"-Infinity", NULL}};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t size = strlen(words[i].word);
        if ((size_t) (self->end - self->at) < size
            || memcmp(self->at, words[i].word, size) != 0)
            continue;
        self->at += size;
        return words[i].make ? words[i].make() : json_string(words[i].word);
    }
    refuse(self, "a value is missing");
    return NULL;
}

static json_t *read_number(json_text_t *self)
{
    bool is_int;
    const char *first = self->at;
    const char *end = number_end(first, self->end, &is_int);

    if (!end)
        return read_word(self);
    self->at = end;
    cleanup_free char *text = mem_copy(first, (size_t) (end - first));
    if (is_int) {
        errno = 0;
        long long value = strtoll(text, NULL, 10);
        if (end - first <= INT_DIGITS || errno == 0)
            return json_integer(value);
    }
    double real = strtod(text, NULL);
    return isinf(real) ? json_string(text) : json_real(real);
}

/* ---- values ---- */

static json_t *read_array(json_text_t *self)
{
    json_auto_t *array = json_array();

    if (json_text_take(self, ']'))
        return json_incref(array);
    do {
        json_t *value = json_text_value(self);
        if (!value)
            return NULL;
        json_array_append_new(array, value);
    } while (json_text_take(self, ','));
    if (json_text_take(self, ']'))
        return json_incref(array);
    refuse(self, "a comma or ] is missing");
    return NULL;
}

static json_t *read_object(json_text_t *self)
{
    json_auto_t *object = json_object();

    if (json_text_take(self, '}'))
        return json_incref(object);
    do {
        cleanup_free char *key = json_text_key(self);
        json_t *value = key ? json_text_value(self) : NULL;
        if (!value)
            return NULL;
        json_object_set_new_nocheck(object, key, value);
    } while (json_text_take(self, ','));
    if (json_text_take(self, '}'))
        return json_incref(object);
    refuse(self, "a comma or } is missing");
    return NULL;
}

static json_t *read_container(json_text_t *self)
{
    bool is_object = *self->at++ == '{';
    json_t *value;

    if (self->depth == DEPTH_MAX) {
        refuse(self, "it is nested too deeply");
        return NULL;
    }
    self->depth++;
    value = is_object ? read_object(self) : read_array(self);
    self->depth--;
    return value;
}

json_t *json_text_value(json_text_t *self)
{
    const char *text;
    size_t size;

    skip_space(self);
    if (self->at == self->end) {
        refuse(self, "a value is missing");
        return NULL;
    }
    switch (*self->at) {
    case '{':
    case '[':
        return read_container(self);
    case '"':
        self->at++;
        return read_string(self, &text, &size)
                   ? json_stringn_nocheck(text, size)
                   : NULL;
    default:
        return read_number(self);
    }
}

static bool skip_string(json_text_t *self)
{
    for (self->at++; self->at < self->end; self->at++) {
        self->at = json_plain(self->at, self->end);
        if (self->at == self->end)
            break;
        if (*self->at == '"') {
            self->at++;
            return true;
        }
        if (*self->at == '\\' && ++self->at == self->end)
            break;
    }
    return refuse(self, "a string has no end");
}

bool json_text_skip(json_text_t *self)
{
    size_t depth = 0;

    skip_space(self);
    while (self->at < self->end) {
        char byte = *self->at;
        if (byte == '"') {
            if (!skip_string(self))
                return false;
            json_text_release(self);
        } else if (!depth && (byte == ',' || byte == '}' || byte == ']')) {
            return true;
        } else {
            depth += byte == '{' || byte == '[';
            depth -= byte == '}' || byte == ']';
            self->at++;
        }
        if (!depth && (byte == '"' || byte == '}' || byte == ']'))
            return true;
    }
    return !depth || refuse(self, "a comma or a bracket is missing");
}

bool json_text_is_done(json_text_t *self)
{
    skip_space(self);
    return self->at == self->end || refuse(self, "something follows the value");
}

/* ---- what is wrong ---- */

static bool is_conflict(const json_text_t *self, const char *line)
{
    static const char *const marks[] = {"<<<<<<<", "=======", ">>>>>>>",
                                        "|||||||"};

    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (self->end - line >= 7 && memcmp(line, marks[i], 7) == 0)
            return true;
    return false;
}

void json_text_error(const json_text_t *self, json_error_t *ret_error)
{
    const char *line = self->text;
    int number = 1;

    for (const char *next;
         (next = memchr(line, '\n', (size_t) (self->at - line)));
         line = next + 1)
        number++;
    *ret_error = (json_error_t){.line = number,
                                .column = (int) (self->at - line),
                                .position = (int) (self->at - self->text)};
    if (self->text == self->end)
        snprintf(ret_error->text, sizeof ret_error->text, "it is empty");
    else if (is_conflict(self, line))
        snprintf(ret_error->text, sizeof ret_error->text,
                 "it has merge-conflict marks at line %d", number);
    else if (self->at == self->end)
        snprintf(ret_error->text, sizeof ret_error->text,
                 "it ends in the middle, at line %d", number);
    else
        snprintf(ret_error->text, sizeof ret_error->text, "line %d: %s", number,
                 self->flaw ? self->flaw : "it is not JSON");
}
