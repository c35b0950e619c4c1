/* See model_decoder.h. */
#include "gateway/http/contents/model_decoder.h"

#include "protocol/utf8.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define AHEAD 12 /* bytes that are looked at together: two escapes \\uXXXX */

/* --- Where it is --- */

static bool is_last(const content_t *self)
{
    return !self->has_file || self->before + self->span.size == self->file_size;
}

/* Behind the last byte of the span that may be looked at; of a string at the
 * quote. */
static size_t end_of(const content_t *self)
{
    if (!is_last(self))
        return self->span.size > AHEAD ? self->span.size - AHEAD : 0;
    return self->span.size - (self->kind != CONTENT_NOTEBOOK);
}

/* The span has what comes next. */
static int look_on(content_t *self, fault_t *fault)
{
    size_t want = CONTENT_PIECE;

    if (is_last(self) || self->at < end_of(self))
        return 0;
    self->before += self->at;
    self->at = 0;
    if (self->file_size - self->before < want)
        want = (size_t) (self->file_size - self->before);
    buffer_clear(&self->window);
    uint8_t *to = buffer_reserve(&self->window, want);
    for (ssize_t got; self->window.size < want;
         self->window.size += (size_t) got) {
        got =
            pread(self->file, to + self->window.size, want - self->window.size,
                  (off_t) (self->before + self->window.size));
        if (got <= 0)
            return fault_set(fault, got < 0 ? errno : EIO,
                             "what came of the content cannot be read");
    }
    self->span.text = (const char *) self->window.data;
    self->span.size = want;
    return 0;
}

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
    size_t end = end_of(self), begin = out->size;

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
    return self->at < end || !is_last(self);
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
    size_t end = end_of(self);

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
                             "the content is no base64 (byte %llu)",
                             (unsigned long long) (self->before + self->at));
    if (out->size - begin >= CONTENT_PIECE || !is_last(self))
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
    size_t from = self->at, end = end_of(self), size;

    while (self->is_string && self->at < end
           && self->at - from < CONTENT_PIECE) {
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
    size_t begin = out->size, end = end_of(self);

    while (self->at < end && out->size - begin < CONTENT_PIECE) {
        char byte = self->span.text[self->at];
        if (self->is_string) {
            append_string(self, out);
            continue;
        }
        self->at++;
        if (!strchr(" \t\r\n", byte))
            append_token(self, out, byte);
    }
    if (self->at < end || !is_last(self))
        return 1;
    buffer_text(out, "\n");
    return 0;
}

static int next_of_span(content_t *self, buffer_t *out, fault_t *fault)
{
    if (self->kind != CONTENT_NOTEBOOK && !self->at && !self->before)
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

int content_next(content_t *self, buffer_t *out, fault_t *fault)
{
    size_t begin = out->size;
    int r;

    do {
        r = look_on(self, fault);
        if (r == 0)
            r = next_of_span(self, out, fault);
    } while (r > 0 && out->size == begin);
    return r;
}

void content_reset(content_t *self)
{
    buffer_reset(&self->window);
}
