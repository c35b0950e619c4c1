/* The terminal's line editor does the work (canonical mode). This file only
 * switches its echo and looks whether a line is ready. So the command still
 * gets the kernel's messages while the person thinks. */
#include "gateway/cli/core/prompt_input.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* of the kernel's line editor */

static const char END_OF_INPUT[] = "\004"; /* EOFError, as ipykernel has it */

struct prompt_input {
    int fd; /* standard input, or an owned /dev/tty */
    bool is_owned;
    bool is_open;
    bool is_hidden;       /* the echo is off */
    struct termios saved; /* when hidden */
};

prompt_input_t *prompt_input_new(bool stdin_is_taken)
{
    cleanup_fd int tty = -1;
    prompt_input_t *self;

    if (stdin_is_taken || !isatty(STDIN_FILENO)) {
        /* A question needs a terminal on which a person can see it. */
        if (!stdin_is_taken || !isatty(STDERR_FILENO)
            || (tty = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY)) < 0)
            return NULL;
    }
    self = mem_new(sizeof *self);
    self->is_owned = tty >= 0;
    self->fd = tty >= 0 ? take_fd(&tty) : STDIN_FILENO;
    return self;
}

void prompt_input_give_up(prompt_input_t *self)
{
    if (self->is_hidden)
        tcsetattr(self->fd, TCSANOW, &self->saved);
    self->is_hidden = false;
    self->is_open = false;
}

void prompt_input_destroy(prompt_input_t **self_p)
{
    prompt_input_t *self = *self_p;

    if (!self)
        return;
    prompt_input_give_up(self);
    if (self->is_owned)
        close(self->fd);
    free(self);
    *self_p = NULL;
}

void prompt_input_begin(prompt_input_t *self, bool is_password)
{
    self->is_open = true;
    if (is_password && !self->is_hidden
        && tcgetattr(self->fd, &self->saved) == 0) {
        struct termios hidden = self->saved;

        hidden.c_lflag &= ~(tcflag_t) ECHO;
        hidden.c_lflag |= ECHONL;
        self->is_hidden = tcsetattr(self->fd, TCSAFLUSH, &hidden) == 0;
    }
}

bool prompt_input_is_open(const prompt_input_t *self)
{
    return self && self->is_open;
}

bool prompt_input_wait(prompt_input_t *self, buffer_t *ret_line)
{
    struct pollfd look = {self->fd, POLLIN, 0};

    return poll(&look, 1, -1) > 0 && prompt_input_read(self, ret_line);
}

bool prompt_input_read(prompt_input_t *self, buffer_t *ret_line)
{
    struct pollfd look = {self->fd, POLLIN, 0};
    ssize_t size;

    if (poll(&look, 1, 0) <= 0)
        return false;
    size = read(self->fd, buffer_reserve(ret_line, LINE_MAX_BYTES),
                LINE_MAX_BYTES);
    if (size < 0)
        return false;
    ret_line->size += (size_t) size;
    if (size == 0)
        buffer_text(ret_line, END_OF_INPUT);
    else if (ret_line->data[ret_line->size - 1] == '\n')
        ret_line->size--;
    prompt_input_give_up(self);
    return true;
}
