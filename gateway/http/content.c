/* See content.h. */
#include "gateway/http/content.h"

#include "protocol/utf8.h"

#include <errno.h>
#include <string.h>

/* --- Text --- */

static unsigned hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return (unsigned) (digit - '0');
    return (unsigned) ((digit | 0x20) - 'a') + 10;
}

/* Of checked JSON: there are four digits. */
static uint32_t hex_code(const char *at)
{
    return hex_digit(at[0]) << 12 | hex_digit(at[1]) << 8
           | hex_digit(at[2]) << 4 | hex_digit(at[3]);
}

/* Behind "\u"; -EINVAL: half of a pair, which is no character. */
static int append_unicode(content_t *self, buffer_t *out, fault_t *fault)
{
    const char *text = self->span.text;
    uint32_t code = hex_code(text + self->at), low;

    self->at += 4;
    if (code < 0xD800 || code > 0xDFFF) {
        utf8_append(out, code);
        return 0;
    }
    if (code > 0xDBFF || self->at + 6 >= self->span.size
        || text[self->at] != '\\' || text[self->at + 1] != 'u'
        || (low = hex_code(text + self->at + 2)) < 0xDC00 || low > 0xDFFF)
        return fault_set(fault, EINVAL,
                         "the content has half of a surrogate pair, which is "
                         "no text");
    self->at += 6;
    utf8_append(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
    return 0;
}

/* At a backslash. */
static int append_escape(content_t *self, buffer_t *out, fault_t *fault)
{
    static const char letters[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    char letter = self->span.text[self->at + 1];
    const char *found = strchr(letters, letter);

    self->at += 2;
    if (letter == 'u')
        return append_unicode(self, out, fault);
    buffer_append(out, found ? &bytes[found - letters] : &letter, 1);
    return 0;
}

static int next_text(content_t *self, buffer_t *out, fault_t *fault)
{
    const char *text = self->span.text;
    size_t end = self->span.size - 1, begin = out->size; /* the last quote */

    while (self->at < end && out->size - begin < CONTENT_PIECE) {
        size_t from = self->at;
        while (self->at < end && text[self->at] != '\\'
               && self->at - from < CONTENT_PIECE)
            self->at++;
        buffer_append(out, text + from, self->at - from);
        if (self->at == end || text[self->at] != '\\')
            continue;
        int r = append_escape(self, out, fault);
        if (r < 0)
            return r;
    }
    return self->at < end;
}

/* --- Base64 --- */

static int sextet(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    if (letter >= 'a' && letter <= 'z')
        return letter - 'a' + 26;
    if (letter >= '0' && letter <= '9')
        return letter - '0' + 52;
    return letter == '+' ? 62 : letter == '/' ? 63 : -1;
}

static void append_quad(content_t *self, buffer_t *out)
{
    const uint8_t *quad = self->quad;
    const uint8_t bytes[3] = {(uint8_t) (quad[0] << 2 | quad[1] >> 4),
                              (uint8_t) (quad[1] << 4 | quad[2] >> 2),
                              (uint8_t) (quad[2] << 6 | quad[3])};

    buffer_append(out, bytes, 3 - self->padding);
    self->count = 0;
}

static bool take_letter(content_t *self, char letter, buffer_t *out)
{
    int value = sextet(letter);

    if (letter == '=' && self->count >= 2) {
        self->padding++;
        value = 0;
    } else if (value < 0 || self->padding) {
        return false; /* nothing stands behind the padding */
    }
    self->quad[self->count++] = (uint8_t) value;
    if (self->count == 4)
        append_quad(self, out);
    return true;
}

/* The next letter; blanks, and line ends however they are written, are passed
 * over. '\0': that was all; 1: something that is none. */
static char next_letter(content_t *self)
{
    const char *text = self->span.text;
    size_t end = self->span.size - 1;

    while (self->at < end) {
        char letter = text[self->at++];
        if (letter == '\\') {
            letter = text[self->at++];
            if (letter == '/')
                return letter;
            if (letter != 'n' && letter != 'r' && letter != 't')
                return 1;
        } else if (letter != ' ') {
            return letter;
        }
    }
    return '\0';
}

static int next_base64(content_t *self, buffer_t *out, fault_t *fault)
{
    size_t begin = out->size;
    char letter;

    while (out->size - begin < CONTENT_PIECE && (letter = next_letter(self)))
        if (!take_letter(self, letter, out))
            return fault_set(fault, EINVAL,
                             "the content is no base64 (byte %zu)", self->at);
    if (out->size - begin >= CONTENT_PIECE)
        return 1;
    if (self->count)
        return fault_set(fault, EINVAL,
                         "the content ends within four letters of base64");
    return 0;
}

/* --- A notebook --- */

static void begin_line(const content_t *self, buffer_t *out)
{
    buffer_text(out, "\n");
    memset(buffer_reserve(out, self->depth), ' ', self->depth);
    out->size += self->depth;
}

/* A byte outside of strings. */
static void append_token(content_t *self, buffer_t *out, char byte)
{
    bool closes = byte == '}' || byte == ']';

    if (closes)
        self->depth--;
    if (closes ? !self->is_fresh : self->is_fresh)
        begin_line(self, out);
    self->is_fresh = byte == '{' || byte == '[';
    self->depth += self->is_fresh;
    self->is_string = byte == '"';
    buffer_append(out, &byte, 1);
    if (byte == ',')
        begin_line(self, out);
    else if (byte == ':')
        buffer_text(out, " ");
}

static void append_string(content_t *self, buffer_t *out)
{
    const char *text = self->span.text;
    size_t from = self->at, size;

    while (self->is_string && self->at - from < CONTENT_PIECE) {
        char byte = text[self->at++];
        if (byte == '\\')
            self->at++;
        self->is_string = byte != '"';
    }
    size = self->at - from;
    buffer_append(out, text + from, size);
}

static int next_notebook(content_t *self, buffer_t *out)
{
    size_t begin = out->size;

    while (self->at < self->span.size && out->size - begin < CONTENT_PIECE) {
        char byte = self->span.text[self->at];
        if (self->is_string) {
            append_string(self, out);
            continue;
        }
        self->at++;
        if (!strchr(" \t\r\n", byte))
            append_token(self, out, byte);
    }
    if (self->at < self->span.size)
        return 1;
    buffer_text(out, "\n");
    return 0;
}

int content_next(content_t *self, buffer_t *out, fault_t *fault)
{
    if (self->kind != CONTENT_NOTEBOOK && !self->at)
        self->at = 1; /* behind the first quote */
    switch (self->kind) {
    case CONTENT_TEXT:
        return next_text(self, out, fault);
    case CONTENT_BASE64:
        return next_base64(self, out, fault);
    case CONTENT_NOTEBOOK:
        return next_notebook(self, out);
    case CONTENT_NOTHING:
        break;
    }
    return 0;
}
