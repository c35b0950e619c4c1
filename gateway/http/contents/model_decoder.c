/* See model_decoder.h. */
#include "gateway/http/contents/model_decoder.h"

#include "base/hex.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>

/* Returns the end of the readable text: for a string, its closing quote. */
static size_t end_of(const model_decoder_t *self)
{
    return self->span.size - (self->kind != MODEL_DECODER_NOTEBOOK);
}

/* --- Text --- */

/* Reads the digits after "\u"; -EINVAL for half of a surrogate pair, which is
 * no character. */
static int append_unicode(model_decoder_t *self, buffer_t *out, fault_t *fault)
{
    const char *text = self->span.text;
    uint32_t code = (uint32_t) hex_number(text + self->at, 4), low;

    self->at += 4;
    if (code < 0xD800 || code > 0xDFFF) {
        utf8_append(out, code);
        return 0;
    }
    if (code > 0xDBFF || self->at + 6 >= self->span.size
        || text[self->at] != '\\' || text[self->at + 1] != 'u'
        || (low = (uint32_t) hex_number(text + self->at + 2, 4)) < 0xDC00
        || low > 0xDFFF)
        return fault_set(fault, EINVAL,
                         "the content has half of a surrogate pair, which is "
                         "not valid text");
    self->at += 6;
    utf8_append(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
    return 0;
}

/* Reads an escape at a backslash. */
static int append_escape(model_decoder_t *self, buffer_t *out, fault_t *fault)
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

static int next_text(model_decoder_t *self, buffer_t *out, fault_t *fault)
{
    const char *text = self->span.text;
    size_t end = end_of(self), begin = out->size;

    while (self->at < end && out->size - begin < MODEL_DECODER_PIECE) {
        size_t from = self->at;
        while (self->at < end && text[self->at] != '\\'
               && self->at - from < MODEL_DECODER_PIECE)
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

static void append_quad(model_decoder_t *self, buffer_t *out)
{
    const uint8_t *quad = self->quad;
    const uint8_t bytes[3] = {(uint8_t) (quad[0] << 2 | quad[1] >> 4),
                              (uint8_t) (quad[1] << 4 | quad[2] >> 2),
                              (uint8_t) (quad[2] << 6 | quad[3])};

    buffer_append(out, bytes, 3 - self->padding);
    self->count = 0;
}

static bool take_letter(model_decoder_t *self, char letter, buffer_t *out)
{
    int value = sextet(letter);

    if (letter == '=' && self->count >= 2) {
        self->padding++;
        value = 0;
    } else if (value < 0 || self->padding) {
        return false; /* nothing follows the padding */
    }
    self->quad[self->count++] = (uint8_t) value;
    if (self->count == 4)
        append_quad(self, out);
    return true;
}

/* Returns the next letter; skips spaces and all forms of line ends. '\0' at the
 * end; 1 for an invalid letter. */
static char next_letter(model_decoder_t *self)
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

static int next_base64(model_decoder_t *self, buffer_t *out, fault_t *fault)
{
    size_t begin = out->size;
    char letter;

    while (out->size - begin < MODEL_DECODER_PIECE
           && (letter = next_letter(self)))
        if (!take_letter(self, letter, out))
            return fault_set(fault, EINVAL,
                             "the content is not base64 (byte %llu)",
                             (unsigned long long) self->at);
    if (out->size - begin >= MODEL_DECODER_PIECE)
        return 1;
    if (self->count)
        return fault_set(fault, EINVAL,
                         "the content ends within four letters of base64");
    return 0;
}

/* --- A notebook --- */

static void begin_line(const model_decoder_t *self, buffer_t *out)
{
    buffer_text(out, "\n");
    memset(buffer_reserve(out, self->depth), ' ', self->depth);
    out->size += self->depth;
}

/* Appends a byte outside of strings. */
static void append_token(model_decoder_t *self, buffer_t *out, char byte)
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

static void append_string(model_decoder_t *self, buffer_t *out)
{
    const char *text = self->span.text;
    size_t from = self->at, end = end_of(self), size;

    while (self->is_string && self->at < end
           && self->at - from < MODEL_DECODER_PIECE) {
        char byte = text[self->at++];
        if (byte == '\\')
            self->at++;
        self->is_string = byte != '"';
    }
    size = self->at - from;
    buffer_append(out, text + from, size);
}

static int next_notebook(model_decoder_t *self, buffer_t *out)
{
    size_t begin = out->size, end = end_of(self);

    while (self->at < end && out->size - begin < MODEL_DECODER_PIECE) {
        char byte = self->span.text[self->at];
        if (self->is_string) {
            append_string(self, out);
            continue;
        }
        self->at++;
        if (!strchr(" \t\r\n", byte))
            append_token(self, out, byte);
    }
    if (self->at < end)
        return 1;
    buffer_text(out, "\n");
    return 0;
}

int model_decoder_next(model_decoder_t *self, buffer_t *out, fault_t *fault)
{
    if (self->kind != MODEL_DECODER_NOTEBOOK && !self->at)
        self->at = 1; /* after the first quote */
    switch (self->kind) {
    case MODEL_DECODER_TEXT:
        return next_text(self, out, fault);
    case MODEL_DECODER_BASE64:
        return next_base64(self, out, fault);
    case MODEL_DECODER_NOTEBOOK:
        return next_notebook(self, out);
    case MODEL_DECODER_NOTHING:
        break;
    }
    return 0;
}
