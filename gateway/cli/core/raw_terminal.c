/* See raw_terminal.h. Control sequences (ECMA-48) begin with ESC and one of
 * some letters, or with a C1 control, which in UTF-8 is 0xC2 and a byte. Those
 * that a string follows end with BEL, ESC \ or the C1 control ST.
 *
 * ESC and 0xC2 are shown only with the byte that they belong to. If a string
 * between two bytes is left out, they make no sequence. Terminals read on after
 * an odd byte, and find no ESC before it. */
#include "gateway/cli/core/raw_terminal.h"

#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define ESCAPE     0x1b
#define BELL       0x07
#define CANCEL     0x18
#define SUBSTITUTE 0x1a
#define DELETE     0x7f
#define C1_PREFIX  0xc2
#define C1_END     0x9c /* ST */

enum {
    TEXT,
    AFTER_ESCAPE,
    AFTER_PREFIX,
    AFTER_PERCENT,
    IN_STRING,
    IN_STRING_ESCAPE,
    IN_STRING_PREFIX,
};

struct raw_terminal {
    struct termios before;
    int state; /* of the filter */
};

raw_terminal_t *raw_terminal_new(void)
{
    raw_terminal_t *self = mem_new(sizeof *self);
    struct termios raw;

    if (!isatty(STDOUT_FILENO) || tcgetattr(STDIN_FILENO, &self->before) < 0) {
        free(self);
        return NULL;
    }
    raw = self->before;
    cfmakeraw(&raw);
    (void) tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    return self;
}

void raw_terminal_destroy(raw_terminal_t **self_p)
{
    if (!*self_p)
        return;
    (void) tcsetattr(STDIN_FILENO, TCSAFLUSH, &(*self_p)->before);
    free(*self_p);
    *self_p = NULL;
}

bool raw_terminal_size(unsigned *ret_rows, unsigned *ret_columns)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row
        || !size.ws_col)
        return false;
    *ret_rows = size.ws_row;
    *ret_columns = size.ws_col;
    return true;
}

/* Returns true if a string follows ESC and this byte, or the C1 control of that
 * name: DCS, SOS, OSC, PM, APC. */
static bool begins_string(unsigned char byte)
{
    return strchr("PX]^_", byte) && byte;
}

static void put(buffer_t *out, unsigned char byte)
{
    buffer_append(out, &byte, 1);
}

/* Takes the byte after ESC. A terminal executes a control in the middle of a
 * sequence and reads on; CAN and SUB end the sequence. ESC % leaves UTF-8, and
 * each byte from 0x80 on may be a control then: it is left out. */
static int step_escape(unsigned char byte, buffer_t *out)
{
    if (begins_string(byte))
        return IN_STRING;
    if (byte == '%')
        return AFTER_PERCENT;
    if (byte >= ' ' && byte < DELETE)
        put(out, ESCAPE);
    put(out, byte);
    return (byte < ' ' && byte != CANCEL && byte != SUBSTITUTE)
                   || byte == DELETE
               ? AFTER_ESCAPE
               : TEXT;
}

/* Takes the byte after 0xC2, which is no UTF-8 without a second byte. */
static int step_prefix(unsigned char byte, buffer_t *out)
{
    if (byte >= 0x80 && byte < 0xa0 && begins_string(byte - 0x40))
        return IN_STRING;
    if (byte >= 0x80 && byte < 0xc0)
        put(out, C1_PREFIX);
    put(out, byte);
    return TEXT;
}

static int step_text(int state, unsigned char byte, buffer_t *out)
{
    if (state == AFTER_PERCENT)
        return TEXT;
    if (byte == ESCAPE)
        return AFTER_ESCAPE;
    if (byte == C1_PREFIX)
        return AFTER_PREFIX;
    if (state == AFTER_ESCAPE)
        return step_escape(byte, out);
    if (state == AFTER_PREFIX)
        return step_prefix(byte, out);
    put(out, byte);
    return TEXT;
}

static int step_string(int state, unsigned char byte)
{
    if ((state == IN_STRING_ESCAPE && byte == '\\')
        || (state == IN_STRING_PREFIX && byte == C1_END) || byte == BELL)
        return TEXT;
    if (byte == ESCAPE)
        return IN_STRING_ESCAPE;
    return byte == C1_PREFIX ? IN_STRING_PREFIX : IN_STRING;
}

void raw_terminal_filter_bytes(int *state, bytes_t bytes, buffer_t *out)
{
    const unsigned char *at = bytes.bytes;

    for (size_t i = 0; i < bytes.size; i++)
        *state = *state < IN_STRING ? step_text(*state, at[i], out)
                                    : step_string(*state, at[i]);
}

void raw_terminal_filter(raw_terminal_t *self, bytes_t bytes, buffer_t *out)
{
    raw_terminal_filter_bytes(&self->state, bytes, out);
}
