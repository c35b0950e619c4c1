/* See json_scanner.h. There is one state for each place between two bytes, by
 * RFC 8259's grammar, with the same bound on depth as jspan_check. */
#include "gateway/http/contents/json_scanner.h"

#include "base/hex.h"
#include "base/json_plain.h"
#include "base/utf8.h"

#include <string.h>

enum {
    START, /* the object's { */
    VALUE,
    FIRST_ITEM, /* a value, or ] */
    FIRST_KEY,  /* a key, or } */
    KEY,
    COLON,
    AFTER, /* a comma or a closing bracket */
    STRING,
    ESCAPE,
    HEXADECIMAL,
    LITERAL,
    MINUS,
    ZERO,
    INTEGER,
    POINT,
    FRACTION,
    EXPONENT,
    SIGN,
    POWER,
    END,
};

/* --- UTF-8 --- */

void json_scanner_text(json_scanner_t *self, const void *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = size ? at + size : at;

    self->size += size;
    for (; at < end && !self->is_broken; at++) {
        size_t length = self->due ? 0 : utf8_length(*at);

        if (self->lead)
            self->is_broken = !utf8_is_second(self->lead, *at);
        else
            self->is_broken =
                self->due ? !utf8_is_continuation(*at) : length == 0;
        self->due = self->due ? self->due - 1u : (unsigned) length - 1u;
        self->lead = length > 1 ? *at : 0;
    }
}

bool json_scanner_is_text(const json_scanner_t *self)
{
    return !self->is_broken && !self->due;
}

/* --- JSON --- */

static bool open_container(json_scanner_t *self, bool is_object)
{
    if (self->depth >= JSON_DEPTH_MAX)
        return false;
    self->is_object[self->depth++] = is_object;
    self->state = is_object ? FIRST_KEY : FIRST_ITEM;
    return true;
}

static bool close_container(json_scanner_t *self, bool is_object)
{
    if (!self->depth || self->is_object[self->depth - 1] != is_object)
        return false;
    self->depth--;
    self->state = self->depth ? AFTER : END;
    return true;
}

static bool begin_literal(json_scanner_t *self, const char *rest)
{
    self->literal = rest;
    self->state = LITERAL;
    return true;
}

static bool begin_string(json_scanner_t *self, bool is_key)
{
    self->is_key = is_key;
    if (is_key && self->depth == 1)
        self->name_size = 0;
    self->state = STRING;
    return true;
}

/* Reads a digit of the member nbformat. */
static void note_digit(json_scanner_t *self, uint8_t byte)
{
    static const char name[] = "nbformat";

    if (self->depth == 1 && self->name_size == sizeof name - 1
        && memcmp(self->name, name, sizeof name - 1) == 0
        && self->nbformat < JSON_SCANNER_NUMBER_MAX)
        self->nbformat = 10 * self->nbformat + (unsigned) (byte - '0');
}

static bool begin_value(json_scanner_t *self, uint8_t byte)
{
    switch (byte) {
    case '{':
        return open_container(self, true);
    case '[':
        return open_container(self, false);
    case '"':
        return begin_string(self, false);
    case 't':
        return begin_literal(self, "rue");
    case 'f':
        return begin_literal(self, "alse");
    case 'n':
        return begin_literal(self, "ull");
    case '-':
        self->state = MINUS;
        return true;
    case '0':
        self->state = ZERO;
        return true;
    default:
        self->state = INTEGER;
        if (json_is_digit(byte))
            note_digit(self, byte);
        return json_is_digit(byte);
    }
}

static bool go_on(json_scanner_t *self, uint8_t byte)
{
    bool is_object = self->is_object[self->depth - 1];

    if (byte == ',') {
        self->state = is_object ? KEY : VALUE;
        return true;
    }
    return (byte == '}' || byte == ']') && close_container(self, byte == '}');
}

static bool take_string(json_scanner_t *self, uint8_t byte)
{
    if (byte != '"' && self->is_key && self->depth == 1
        && self->name_size < sizeof self->name)
        self->name[self->name_size++] = (char) byte;
    if (byte == '"')
        self->state = self->is_key ? COLON : AFTER;
    else if (byte == '\\')
        self->state = ESCAPE;
    return byte >= ' ';
}

static bool take_escape(json_scanner_t *self, uint8_t byte)
{
    self->state = byte == 'u' ? HEXADECIMAL : STRING;
    self->digits = 4;
    return byte && strchr("\"\\/bfnrtu", byte);
}

static bool take_hexadecimal(json_scanner_t *self, uint8_t byte)
{
    if (--self->digits == 0)
        self->state = STRING;
    return hex_value((char) byte) >= 0;
}

static bool take_literal(json_scanner_t *self, uint8_t byte)
{
    if (byte != (uint8_t) *self->literal++)
        return false;
    if (!*self->literal)
        self->state = AFTER;
    return true;
}

/* Takes a byte of a number; false if it does not belong to the number. */
static bool take_number(json_scanner_t *self, uint8_t byte)
{
    uint8_t state = self->state;

    if (json_is_digit(byte) && state != ZERO) {
        if (state == INTEGER)
            note_digit(self, byte);
        if (state == MINUS)
            self->state = byte == '0' ? ZERO : INTEGER;
        else if (state == POINT)
            self->state = FRACTION;
        else if (state == EXPONENT || state == SIGN)
            self->state = POWER;
        return true;
    }
    if (byte == '.' && (state == ZERO || state == INTEGER))
        self->state = POINT;
    else if ((byte == 'e' || byte == 'E')
             && (state == ZERO || state == INTEGER || state == FRACTION))
        self->state = EXPONENT;
    else if ((byte == '+' || byte == '-') && state == EXPONENT)
        self->state = SIGN;
    else
        return false;
    return true;
}

static bool is_whole_number(uint8_t state)
{
    return state == ZERO || state == INTEGER || state == FRACTION
           || state == POWER;
}

/* Takes a byte between two tokens. */
static bool take_token(json_scanner_t *self, uint8_t byte)
{
    if (json_is_space(byte))
        return true;
    switch (self->state) {
    case START:
        return byte == '{' && open_container(self, true);
    case FIRST_ITEM:
        if (byte == ']')
            return close_container(self, false);
        return begin_value(self, byte);
    case VALUE:
        return begin_value(self, byte);
    case FIRST_KEY:
        if (byte == '}')
            return close_container(self, true);
        return byte == '"' && begin_string(self, true);
    case KEY:
        return byte == '"' && begin_string(self, true);
    case COLON:
        self->state = VALUE;
        return byte == ':';
    case AFTER:
        return go_on(self, byte);
    default:
        return false; /* after the end */
    }
}

static bool take(json_scanner_t *self, uint8_t byte)
{
    switch (self->state) {
    case STRING:
        return take_string(self, byte);
    case ESCAPE:
        return take_escape(self, byte);
    case HEXADECIMAL:
        return take_hexadecimal(self, byte);
    case LITERAL:
        return take_literal(self, byte);
    case MINUS:
    case ZERO:
    case INTEGER:
    case POINT:
    case FRACTION:
    case EXPONENT:
    case SIGN:
    case POWER:
        if (take_number(self, byte))
            return true;
        if (!is_whole_number(self->state))
            return false;
        self->state = AFTER;
        return take_token(self, byte);
    default:
        return take_token(self, byte);
    }
}

void json_scanner_json(json_scanner_t *self, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t before = self->size;

    json_scanner_text(self, bytes, size);
    for (size_t i = 0; i < size && !self->is_no_json; i++) {
        self->is_no_json = !take(self, at[i]);
        self->at = before + i;
    }
}

bool json_scanner_is_object(const json_scanner_t *self)
{
    return json_scanner_is_text(self) && !self->is_no_json
           && self->state == END;
}
