/* See raw_terminal.h. ESC and 0xC2 are shown only with the byte that they
 * belong to. If a string between two bytes is left out, they make no sequence.
 * Terminals read on after an odd byte, and find no ESC before it. */
#include "gateway/cli/core/raw_terminal.h"

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define DELETE 0x7f

struct raw_terminal {
    struct termios before;
    raw_filter_t filter; /* of what is shown */
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

static void put(buffer_t *out, unsigned char byte)
{
    buffer_append(out, &byte, 1);
}

/* Shows a byte of a sequence, after the first one if that was not shown yet.
 * ESC is shown together with the next byte that is no control. After ESC %,
 * which leaves UTF-8, each byte from 0x80 on may be a control. */
static void show_part(raw_filter_t *self, unsigned char byte, buffer_t *out)
{
    bool is_control = byte < ' ' || byte == DELETE;

    self->leaves_utf8 |= self->is_held && byte == '%';
    if (self->leaves_utf8 || control_sequence_is_string(&self->sequence))
        return;
    if (self->is_held && !is_control) {
        put(out, self->sequence.first);
        self->is_held = false;
    }
    put(out, byte);
}

static void show(raw_filter_t *self, unsigned char byte, buffer_t *out)
{
    control_sequence_step_t what = control_sequence_step(&self->sequence, byte);

    if (what == CONTROL_SEQUENCE_BEGIN || self->sequence.is_renewed) {
        self->is_held = true;
        self->leaves_utf8 = false;
    }
    if (what == CONTROL_SEQUENCE_NONE)
        put(out, byte);
    else if (what != CONTROL_SEQUENCE_BEGIN)
        show_part(self, byte, out);
}

void raw_filter_show(raw_filter_t *self, bytes_t bytes, buffer_t *out)
{
    const unsigned char *at = bytes.bytes;

    for (size_t i = 0; i < bytes.size; i++)
        show(self, at[i], out);
}

void raw_terminal_filter(raw_terminal_t *self, bytes_t bytes, buffer_t *out)
{
    raw_filter_show(&self->filter, bytes, out);
}
