/* The one strict walk over JSON text that a peer sent. Without recursion: what
 * is open is kept in an array, so depth costs no stack. */
#include "protocol/jspan.h"

#include "base/utf8.h"
#include "protocol/jspan_lexer.h"
#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

typedef struct {
    const char *start; /* of the text */
    const char *at;    /* next byte to read */
    const char *end;   /* after the text */
    fault_t *fault;
    bool is_portable; /* refuse text that common readers cannot take */
    size_t depth;     /* open arrays and objects */
    char closers[JSON_DEPTH_MAX]; /* the closing bracket of each of them */
} checker_t;

static int refuse(checker_t *self, const char *what)
{
    return fault_set(self->fault, EBADMSG, "%s at byte %zu", what,
                     (size_t) (self->at - self->start));
}

/* Refuses half of a surrogate pair: UTF-8 cannot encode it. `at` is after the
 * \u; the digits of the pair's second half are skipped. */
static int check_pair(checker_t *self)
{
    int unit = hex_unit(self->at, self->end);
    const char *next = self->at + 4;

    if (!self->is_portable || unit < 0xD800 || unit > 0xDFFF)
        return 0;
    if (unit < 0xDC00 && self->end - next >= 6 && next[0] == '\\'
        && next[1] == 'u' && hex_unit(next + 2, self->end) >= 0xDC00
        && hex_unit(next + 2, self->end) <= 0xDFFF) {
        self->at += 6;
        return 0;
    }
    return refuse(self, "half of a surrogate pair");
}

/* Checks what follows a backslash. */
static int check_escape(checker_t *self)
{
    if (self->at == self->end)
        return refuse(self, "unfinished string");
    char kind = *self->at;
    if (kind != 'u') {
        if (kind == '\0' || strchr("\"\\/bfnrt", kind) == NULL)
            return refuse(self, "unknown escape");
        self->at++;
        return 0;
    }
    self->at++;
    if (hex_unit(self->at, self->end) < 0)
        return refuse(self, "\\u without four hex digits");
    if (check_pair(self) < 0)
        return -EBADMSG;
    self->at += 4;
    return 0;
}

static int check_string(checker_t *self)
{
    if (self->at == self->end || *self->at != '"')
        return refuse(self, "a string is expected");
    self->at++;
    for (;;) {
        self->at = json_plain(self->at, self->end);
        if (self->at == self->end)
            return refuse(self, "unfinished string");
        unsigned char c = (unsigned char) *self->at;
        if (c >= 0x80) {
            size_t size = utf8_size(self->at, self->end);
            if (size == 0)
                return refuse(self, "no UTF-8");
            self->at += size;
            continue;
        }
        if (c < 0x20)
            return refuse(self, "control character in a string");
        self->at++;
        if (c == '"')
            return 0;
        if (c == '\\' && check_escape(self) < 0)
            return -EBADMSG;
    }
}

static int check_digits(checker_t *self)
{
    if (self->at == self->end || !json_is_digit(*self->at))
        return refuse(self, "a digit is expected");
    while (self->at < self->end && json_is_digit(*self->at))
        self->at++;
    return 0;
}

static int check_number(checker_t *self)
{
    if (*self->at == '-')
        self->at++;
    const char *first = self->at;
    /* A leading zero is the whole integer: a digit after it is refused. */
    if (self->at < self->end && *self->at == '0')
        self->at++;
    else if (check_digits(self) < 0)
        return -EBADMSG;
    if (self->at < self->end && *self->at == '.') {
        self->at++;
        if (check_digits(self) < 0)
            return -EBADMSG;
    }
    if (self->at < self->end && (*self->at == 'e' || *self->at == 'E')) {
        self->at++;
        if (self->at < self->end && (*self->at == '+' || *self->at == '-'))
            self->at++;
        return check_digits(self);
    }
    if (self->is_portable && self->at - first > JSON_DIGITS_MAX
        && !memchr(first, '.', (size_t) (self->at - first)))
        return refuse(self, "an integer of too many digits");
    return 0;
}

static int check_word(checker_t *self, const char *word)
{
    size_t size = strlen(word);
    if ((size_t) (self->end - self->at) < size
        || memcmp(self->at, word, size) != 0)
        return refuse(self, "a value is expected");
    self->at += size;
    return 0;
}

static int check_scalar(checker_t *self)
{
    switch (*self->at) {
    case '"':
        return check_string(self);
    case 't':
        return check_word(self, "true");
    case 'f':
        return check_word(self, "false");
    case 'n':
        return check_word(self, "null");
    default:
        if (*self->at == '-' || json_is_digit(*self->at))
            return check_number(self);
        return refuse(self, "a value is expected");
    }
}

/* Checks `"key":`, with white space wherever it may be. */
static int check_key(checker_t *self)
{
    self->at = skip_space(self->at, self->end);
    if (check_string(self) < 0)
        return -EBADMSG;
    self->at = skip_space(self->at, self->end);
    if (self->at == self->end || *self->at != ':')
        return refuse(self, "a colon is expected");
    self->at++;
    return 0;
}

/* Opens arrays and objects until a value is complete: a scalar or an empty
 * container. */
static int begin_value(checker_t *self)
{
    for (;;) {
        self->at = skip_space(self->at, self->end);
        if (self->at == self->end)
            return refuse(self, "a value is expected");
        char opener = *self->at;
        if (opener != '{' && opener != '[')
            return check_scalar(self);
        if (self->depth == JSON_DEPTH_MAX)
            return fault_set(self->fault, EBADMSG,
                             "nested too deeply at byte %zu; at most %d levels "
                             "are permitted",
                             (size_t) (self->at - self->start), JSON_DEPTH_MAX);

        char closer = opener == '{' ? '}' : ']';
        self->at = skip_space(self->at + 1, self->end);
        if (self->at < self->end && *self->at == closer) {
            self->at++;
            return 0;
        }
        self->closers[self->depth++] = closer;
        if (opener == '{' && check_key(self) < 0)
            return -EBADMSG;
    }
}

/* Closes the containers that end after a complete value, up to a comma. */
static int end_value(checker_t *self)
{
    while (self->depth > 0) {
        char closer = self->closers[self->depth - 1];
        self->at = skip_space(self->at, self->end);
        if (self->at == self->end)
            return refuse(self, "unfinished array or object");
        char c = *self->at;
        if (c == ',') {
            self->at++;
            return closer == '}' ? check_key(self) : 0;
        }
        if (c != closer)
            return refuse(self, "a comma or the end is expected");
        self->at++;
        self->depth--;
    }
    return 0;
}

static int check(const void *text, size_t size, bool is_portable,
                 jspan_t *ret_value, fault_t *fault)
{
    if (size == 0)
        return fault_set(fault, EBADMSG, "no JSON: empty");
    /* Not initialised as a whole: the closers are written before read. */
    checker_t scan;
    scan.start = text;
    scan.at = skip_space(scan.start, scan.start + size);
    scan.end = scan.start + size;
    scan.fault = fault;
    scan.is_portable = is_portable;
    scan.depth = 0;

    const char *first = scan.at;
    do {
        if (begin_value(&scan) < 0 || end_value(&scan) < 0)
            return -EBADMSG;
    } while (scan.depth > 0);

    const char *last = scan.at;
    scan.at = skip_space(scan.at, scan.end);
    if (scan.at != scan.end)
        return refuse(&scan, "there is text after the value");
    *ret_value = span_of(first, last);
    return 0;
}

int jspan_check(const void *text, size_t size, jspan_t *ret_value,
                fault_t *fault)
{
    return check(text, size, false, ret_value, fault);
}

int jspan_check_portable(const void *text, size_t size, jspan_t *ret_value,
                         fault_t *fault)
{
    return check(text, size, true, ret_value, fault);
}
