/* JSON without a tree. json_check walks the text once, strictly, and without
 * recursion; everything else reads text that it accepted, and so has only to
 * find ends. Nothing is kept: the text stays its owner's. (Trees for files
 * and command lines are jansson's business.) */
#include "protocol/json.h"

#include "protocol/limits.h"

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

/* Words of 8 bytes, each byte `byte`. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Whether all 8 bytes stand for themselves in a string: ASCII, no control
 * character, neither quote nor backslash. Text is mostly that. */
static bool is_plain(const char *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    uint64_t controls = word - EACH(0x20);
    uint64_t quotes = (word ^ EACH('"')) - EACH(1);
    uint64_t backslashes = (word ^ EACH('\\')) - EACH(1);
    return ((controls | quotes | backslashes | word) & EACH(0x80)) == 0;
}

static const char *skip_plain(const char *at, const char *end)
{
    while (end - at >= 8 && is_plain(at))
        at += 8;
    return at;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && is_space(*at))
        at++;
    return at;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* -1 when it is none. */
static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

static bool is_continuation(const char *at)
{
    return ((unsigned char) *at & 0xC0) == 0x80;
}

/* Bytes of the UTF-8 character of two to four bytes at `at`; 0 when it is
 * torn, overlong, a surrogate or past U+10FFFF (RFC 3629, section 4). */
static size_t utf8_size(const char *at, const char *end)
{
    unsigned char lead = (unsigned char) at[0];
    size_t size = lead < 0xC2   ? 0
                  : lead < 0xE0 ? 2
                  : lead < 0xF0 ? 3
                  : lead < 0xF5 ? 4
                                : 0;
    if (size == 0 || (size_t) (end - at) < size)
        return 0;
    for (size_t i = 1; i < size; i++)
        if (!is_continuation(at + i))
            return 0;
    unsigned char second = (unsigned char) at[1];
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F)
        || (lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
        return 0;
    return size;
}

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

static json_kind_t kind_of(char first)
{
    switch (first) {
    case '{':
        return JSON_KIND_OBJECT;
    case '[':
        return JSON_KIND_ARRAY;
    case '"':
        return JSON_KIND_STRING;
    case 't':
        return JSON_KIND_TRUE;
    case 'f':
        return JSON_KIND_FALSE;
    case 'n':
        return JSON_KIND_NULL;
    default:
        return JSON_KIND_NUMBER;
    }
}

static json_span_t span_of(const char *at, const char *end)
{
    return (json_span_t){
        .text = at, .size = (size_t) (end - at), .kind = kind_of(*at)};
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

/* Behind the string that begins at `at`. */
static const char *skip_string(const char *at, const char *end)
{
    at++;
    for (;;) {
        at = skip_plain(at, end);
        if (at >= end)
            return end;
        char c = *at++;
        if (c == '"')
            return at;
        if (c == '\\')
            at++;
    }
}

/* Behind the value that begins at `at`. */
static const char *skip_value(const char *at, const char *end)
{
    size_t depth = 0;
    while (at < end) {
        char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
        } else if (c == '{' || c == '[') {
            depth++;
            at++;
        } else if (c == '}' || c == ']') {
            depth--;
            at++;
        } else if (depth > 0) {
            at++;
            continue;
        } else {
            while (at < end && *at != ',' && *at != '}' && *at != ']'
                   && !is_space(*at))
                at++;
        }
        if (depth == 0)
            break;
    }
    return at;
}

bool json_each(json_span_t container, size_t *cursor, json_span_t *ret_key,
               json_span_t *ret_value)
{
    bool is_object = container.kind == JSON_KIND_OBJECT;
    if (!is_object && container.kind != JSON_KIND_ARRAY)
        return false;
    /* Without the closing bracket: its place is the end. */
    const char *end = container.text + container.size - 1;
    const char *at = container.text + (*cursor > 0 ? *cursor : 1);
    at = skip_space(at, end);
    if (at < end && *at == ',')
        at = skip_space(at + 1, end);
    if (at >= end)
        return false;

    json_span_t key = {0};
    if (is_object) {
        const char *behind = skip_string(at, end);
        key = span_of(at, behind);
        at = skip_space(behind, end);
        at = skip_space(at + 1, end);
    }
    const char *behind = skip_value(at, end);
    *ret_value = span_of(at, behind);
    if (ret_key != NULL)
        *ret_key = key;
    *cursor = (size_t) (behind - container.text);
    return true;
}

json_span_t json_member(json_span_t object, const char *key)
{
    json_span_t found = {0};
    if (object.kind != JSON_KIND_OBJECT)
        return found;
    size_t cursor = 0;
    json_span_t name;
    json_span_t value;
    while (json_each(object, &cursor, &name, &value))
        if (json_text_equals(name, key))
            found = value;
    return found;
}

bool json_is(json_span_t value, json_kind_t kind)
{
    return value.kind == kind;
}

bool json_is_bool(json_span_t value)
{
    return value.kind == JSON_KIND_TRUE || value.kind == JSON_KIND_FALSE;
}

bool json_is_integer(json_span_t value)
{
    if (value.kind != JSON_KIND_NUMBER)
        return false;
    for (size_t i = 0; i < value.size; i++)
        if (value.text[i] != '-' && !is_digit(value.text[i]))
            return false;
    return true;
}

static uint32_t read_unit(const char *digits)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++)
        unit = unit << 4 | (uint32_t) hex_value(digits[i]);
    return unit;
}

static void append_character(buffer_t *out, uint32_t code)
{
    char bytes[4];
    size_t size = 0;
    if (code < 0x80) {
        bytes[size++] = (char) code;
    } else if (code < 0x800) {
        bytes[size++] = (char) (0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[size++] = (char) (0xE0 | code >> 12);
        bytes[size++] = (char) (0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[size++] = (char) (0xF0 | code >> 18);
        bytes[size++] = (char) (0x80 | (code >> 12 & 0x3F));
        bytes[size++] = (char) (0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        bytes[size++] = (char) (0x80 | (code & 0x3F));
    buffer_append(out, bytes, size);
}

/* The character of the \u at whose digits `at` stands; two of them when they
 * are a surrogate pair. Half a pair, which Python's json writes and reads but
 * UTF-8 cannot say, becomes U+FFFD. */
static const char *append_unicode(buffer_t *out, const char *at,
                                  const char *end)
{
    uint32_t code = read_unit(at);
    at += 4;
    if (code >= 0xD800 && code < 0xDC00 && end - at >= 6 && at[0] == '\\'
        && at[1] == 'u') {
        uint32_t low = read_unit(at + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            at += 6;
        }
    }
    if (code >= 0xD800 && code < 0xE000)
        code = 0xFFFD;
    append_character(out, code);
    return at;
}

/* What an escape of one letter stands for. */
static char unescaped(char letter)
{
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return letter;
    }
}

void json_text(json_span_t string, buffer_t *ret_text)
{
    if (string.kind != JSON_KIND_STRING)
        return;
    const char *at = string.text + 1;
    const char *end = string.text + string.size - 1;
    buffer_reserve(ret_text, string.size);
    while (at < end) {
        const char *escape = memchr(at, '\\', (size_t) (end - at));
        const char *stop = escape != NULL ? escape : end;
        buffer_append(ret_text, at, (size_t) (stop - at));
        at = stop;
        if (escape == NULL)
            break;
        if (at[1] == 'u') {
            at = append_unicode(ret_text, at + 2, end);
        } else {
            char letter = unescaped(at[1]);
            buffer_append(ret_text, &letter, 1);
            at += 2;
        }
    }
    buffer_append(ret_text, "", 0);
}

char *json_text_new(json_span_t string)
{
    if (string.kind != JSON_KIND_STRING)
        return NULL;
    buffer_t text = BUFFER_EMPTY;
    json_text(string, &text);
    return (char *) text.data;
}

bool json_text_equals(json_span_t string, const char *text)
{
    if (string.kind != JSON_KIND_STRING)
        return false;
    size_t size = strlen(text);
    const char *inner = string.text + 1;
    size_t inner_size = string.size - 2;
    if (memchr(inner, '\\', inner_size) == NULL)
        return inner_size == size && memcmp(inner, text, size) == 0;

    cleanup_buffer buffer_t plain = BUFFER_EMPTY;
    json_text(string, &plain);
    return plain.size == size && memcmp(plain.data, text, size) == 0;
}

bool json_to_integer(json_span_t number, int64_t *ret_value)
{
    if (!json_is_integer(number))
        return false;
    bool is_negative = number.text[0] == '-';
    int64_t value = 0;
    /* Downwards, where there is room for the smallest number too. */
    for (size_t i = is_negative ? 1 : 0; i < number.size; i++)
        if (__builtin_mul_overflow(value, 10, &value)
            || __builtin_sub_overflow(value, number.text[i] - '0', &value))
            return false;
    if (!is_negative && __builtin_sub_overflow((int64_t) 0, value, &value))
        return false;
    *ret_value = value;
    return true;
}

bool json_to_real(json_span_t number, double *ret_value)
{
    if (number.kind != JSON_KIND_NUMBER)
        return false;
    cleanup_free char *text = mem_copy(number.text, number.size);
    double value = strtod(text, NULL);
    if (!__builtin_isfinite(value))
        return false;
    *ret_value = value;
    return true;
}

static void quote_control(buffer_t *out, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[] = "btn\0fr"; /* from 8 on; 11 has none */
    char escape[6] = {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    size_t size = sizeof escape;
    if (c == '"' || c == '\\') {
        escape[1] = (char) c;
        size = 2;
    } else if (c >= 8 && c <= 13 && c != 11) {
        escape[1] = letters[c - 8];
        size = 2;
    }
    buffer_append(out, escape, size);
}

void json_quote(buffer_t *out, const void *text, size_t size)
{
    const char *at = text;
    const char *end = at + size;
    const char *kept = at; /* up to here it is written */
    buffer_reserve(out, size + 2);
    buffer_append(out, "\"", 1);
    while (at < end) {
        at = skip_plain(at, end);
        if (at == end)
            break;
        unsigned char c = (unsigned char) *at;
        size_t character = c >= 0x80 ? utf8_size(at, end) : 1;
        if (character > 0 && c >= 0x20 && c != '"' && c != '\\') {
            at += character;
            continue;
        }
        buffer_append(out, kept, (size_t) (at - kept));
        if (c >= 0x80)
            append_character(out, 0xFFFD);
        else
            quote_control(out, c);
        kept = ++at;
    }
    buffer_append(out, kept, (size_t) (end - kept));
    buffer_append(out, "\"", 1);
}

void json_quote_text(buffer_t *out, const char *text)
{
    json_quote(out, text, strlen(text));
}
