/* The one strict walk over JSON text that a peer sent. Without recursion: what
 * is open is kept in an array, so depth costs no stack. */
#include "protocol/json.h"

#include "protocol/json_lexis.h"
#include "protocol/limits.h"
#include "protocol/utf8.h"

#include <errno.h>
#include <string.h>

typedef struct {
    const char *start; /* of the text */
    const char *at;    /* next byte to read */
    const char *end;   /* behind the text */
    fault_t *fault;
    size_t depth;                 /* open arrays and objects */
    char closers[JSON_DEPTH_MAX]; /* what each of them waits for */
} scan_t;

static int refuse(scan_t *self, const char *what)
{
    return fault_set(self->fault, EBADMSG, "%s at byte %zu", what,
                     (size_t) (self->at - self->start));
}

/* After a backslash. */
static int check_escape(scan_t *self)
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
    for (int i = 0; i < 4; i++, self->at++)
        if (self->at == self->end || hex_value(*self->at) < 0)
            return refuse(self, "\\u without four hex digits");
    return 0;
}

static int check_string(scan_t *self)
{
    if (self->at == self->end || *self->at != '"')
        return refuse(self, "a string was awaited");
    self->at++;
    for (;;) {
        self->at = skip_plain(self->at, self->end);
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

static int check_digits(scan_t *self)
{
    if (self->at == self->end || !is_digit(*self->at))
        return refuse(self, "a digit was awaited");
    while (self->at < self->end && is_digit(*self->at))
        self->at++;
    return 0;
}

static int check_number(scan_t *self)
{
    if (*self->at == '-')
        self->at++;
    /* A zero in front stands alone: what follows it is then refused. */
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
    return 0;
}

static int check_word(scan_t *self, const char *word)
{
    size_t size = strlen(word);
    if ((size_t) (self->end - self->at) < size
        || memcmp(self->at, word, size) != 0)
        return refuse(self, "a value was awaited");
    self->at += size;
    return 0;
}

static int check_scalar(scan_t *self)
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
        if (*self->at == '-' || is_digit(*self->at))
            return check_number(self);
        return refuse(self, "a value was awaited");
    }
}

/* `"key":` with white space wherever it may stand. */
static int check_key(scan_t *self)
{
    self->at = skip_space(self->at, self->end);
    if (check_string(self) < 0)
        return -EBADMSG;
    self->at = skip_space(self->at, self->end);
    if (self->at == self->end || *self->at != ':')
        return refuse(self, "a colon was awaited");
    self->at++;
    return 0;
}

/* Opens arrays and objects until a value is complete: a scalar or an empty
 * container. */
static int begin_value(scan_t *self)
{
    for (;;) {
        self->at = skip_space(self->at, self->end);
        if (self->at == self->end)
            return refuse(self, "a value was awaited");
        char opener = *self->at;
        if (opener != '{' && opener != '[')
            return check_scalar(self);
        if (self->depth == JSON_DEPTH_MAX)
            return refuse(self, "nested too deeply");

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

/* Behind a complete value: closes what ends here, up to a comma. */
static int end_value(scan_t *self)
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
            return refuse(self, "a comma or the end was awaited");
        self->at++;
        self->depth--;
    }
    return 0;
}

int json_check(const void *text, size_t size, json_span_t *ret_value,
               fault_t *fault)
{
    if (size == 0)
        return fault_set(fault, EBADMSG, "no JSON: empty");
    /* Not initialised as a whole: the closers are written before read. */
    scan_t scan;
    scan.start = text;
    scan.at = skip_space(scan.start, scan.start + size);
    scan.end = scan.start + size;
    scan.fault = fault;
    scan.depth = 0;

    const char *first = scan.at;
    do {
        if (begin_value(&scan) < 0 || end_value(&scan) < 0)
            return -EBADMSG;
    } while (scan.depth > 0);

    const char *last = scan.at;
    scan.at = skip_space(scan.at, scan.end);
    if (scan.at != scan.end)
        return refuse(&scan, "something behind the value");
    *ret_value = span_of(first, last);
    return 0;
}
