/* See json_scanner.h. A state for each place between two bytes; RFC 8259's
 * grammar, with the same bound on depth as json_check has. */
#include "gateway/http/contents/json_scanner.h"

#include <string.h>

enum {
    START, /* the object's { */
    VALUE,
    FIRST_ITEM, /* a value, or ] */
    FIRST_KEY,  /* a key, or } */
    KEY,
    COLON,
    AFTER, /* a comma, or what closes */
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

static bool begin_character(scan_t *self, uint8_t byte)
{
    self->low = 0x80;
    self->high = 0xBF;
    if (byte < 0x80)
        return true;
    if (byte < 0xC2 || byte > 0xF4)
        return false;
    self->due = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    /* No overlong forms, no surrogates, nothing past U+10FFFF. */
    if (byte == 0xE0)
        self->low = 0xA0;
    else if (byte == 0xED)
        self->high = 0x9F;
    else if (byte == 0xF0)
        self->low = 0x90;
    else if (byte == 0xF4)
        self->high = 0x8F;
    return true;
}

void scan_text(scan_t *self, const void *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = size ? at + size : at;

    self->size += size;
    for (; at < end && !self->is_broken; at++) {
        if (!self->due) {
            self->is_broken = !begin_character(self, *at);
            continue;
        }
        self->is_broken = *at < self->low || *at > self->high;
        self->low = 0x80;
        self->high = 0xBF;
        self->due--;
    }
}

bool scan_is_text(const scan_t *self)
{
    return !self->is_broken && !self->due;
}

/* --- JSON --- */

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

static bool is_hexadecimal(uint8_t byte)
{
    return is_digit(byte) || (byte >= 'a' && byte <= 'f')
           || (byte >= 'A' && byte <= 'F');
}

static bool open_container(scan_t *self, bool is_object)
{
    if (self->depth >= JSON_DEPTH_MAX)
        return false;
    self->is_object[self->depth++] = is_object;
    self->state = is_object ? FIRST_KEY : FIRST_ITEM;
    return true;
}

static bool close_container(scan_t *self, bool is_object)
{
    if (!self->depth || self->is_object[self->depth - 1] != is_object)
        return false;
    self->depth--;
    self->state = self->depth ? AFTER : END;
    return true;
}

static bool begin_literal(scan_t *self, const char *rest)
{
    self->literal = rest;
    self->state = LITERAL;
    return true;
}

static bool begin_string(scan_t *self, bool is_key)
{
    self->is_key = is_key;
    if (is_key && self->depth == 1)
        self->name_size = 0;
    self->state = STRING;
    return true;
}

/* A digit of the object's own number of the format. */
static void note_digit(scan_t *self, uint8_t byte)
{
    static const char name[] = "nbformat";

    if (self->depth == 1 && self->name_size == sizeof name - 1
        && memcmp(self->name, name, sizeof name - 1) == 0
        && self->nbformat < SCAN_NUMBER_MAX)
        self->nbformat = 10 * self->nbformat + (unsigned) (byte - '0');
}

static bool begin_value(scan_t *self, uint8_t byte)
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
        if (is_digit(byte))
            note_digit(self, byte);
        return is_digit(byte);
    }
}

static bool go_on(scan_t *self, uint8_t byte)
{
    bool is_object = self->is_object[self->depth - 1];

    if (byte == ',') {
        self->state = is_object ? KEY : VALUE;
        return true;
    }
    return (byte == '}' || byte == ']') && close_container(self, byte == '}');
}

static bool take_string(scan_t *self, uint8_t byte)
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

static bool take_escape(scan_t *self, uint8_t byte)
{
    self->state = byte == 'u' ? HEXADECIMAL : STRING;
    self->digits = 4;
    return byte && strchr("\"\\/bfnrtu", byte);
}

static bool take_hexadecimal(scan_t *self, uint8_t byte)
{
    if (--self->digits == 0)
        self->state = STRING;
    return is_hexadecimal(byte);
}

static bool take_literal(scan_t *self, uint8_t byte)
{
    if (byte != (uint8_t) *self->literal++)
        return false;
    if (!*self->literal)
        self->state = AFTER;
    return true;
}

/* What may follow in a number; false: nothing that belongs to it. */
static bool take_number(scan_t *self, uint8_t byte)
{
    uint8_t state = self->state;

    if (is_digit(byte) && state != ZERO) {
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

/* Between two tokens. */
static bool take_token(scan_t *self, uint8_t byte)
{
    if (is_space(byte))
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
        return false; /* behind the end */
    }
}

static bool take(scan_t *self, uint8_t byte)
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

void scan_json(scan_t *self, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    uint64_t before = self->size;

    scan_text(self, bytes, size);
    for (size_t i = 0; i < size && !self->is_no_json; i++) {
        self->is_no_json = !take(self, at[i]);
        self->at = before + i;
    }
}

size_t scan_run(scan_t *self, const char *bytes, size_t size)
{
    size_t count = 0;

    if (self->state != STRING || self->due)
        return 0;
    for (; count < size; count++) {
        uint8_t byte = (uint8_t) bytes[count];
        if (byte < ' ' || byte > 0x7e || byte == '"' || byte == '\\')
            break;
    }
    self->size += count;
    return count;
}

scan_place_t scan_place(const scan_t *self)
{
    if (self->depth != 1)
        return SCAN_ELSEWHERE;
    switch (self->state) {
    case FIRST_KEY:
    case KEY:
        return SCAN_KEY;
    case STRING:
    case ESCAPE:
    case HEXADECIMAL:
        return self->is_key ? SCAN_KEY : SCAN_ELSEWHERE;
    case VALUE:
        return SCAN_VALUE;
    case AFTER:
        return SCAN_BEHIND;
    default:
        return SCAN_ELSEWHERE;
    }
}

bool scan_goes_on(const scan_t *self)
{
    return !self->is_broken && !self->is_no_json;
}

bool scan_is_object(const scan_t *self)
{
    return scan_is_text(self) && !self->is_no_json && self->state == END;
}
