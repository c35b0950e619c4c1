/* See run_output.h. */
#include "gateway/cli/client/run_output.h"

#include "base/fd.h"
#include "gateway/cli/core/terminal.h"

#include <errno.h>
#include <unistd.h>

#define PIECE 4096 /* a pipe that takes something takes it all */

typedef struct {
    FILE *file;         /* borrowed */
    terminal_t *screen; /* owned; for a file that is a terminal */
    buffer_t waiting;   /* output that is not written yet */
    bool is_broken;     /* its reader has gone */
} printed_stream_t;

struct run_output {
    printed_stream_t streams[RUN_OUTPUTS];
    uint64_t next; /* offset of the next byte that is expected */
};

void run_output_destroy(run_output_t **self_p)
{
    run_output_t *self = *self_p;

    if (!self)
        return;
    for (int i = 0; i < RUN_OUTPUTS; i++) {
        terminal_destroy(&self->streams[i].screen);
        buffer_reset(&self->streams[i].waiting);
    }
    free(self);
    *self_p = NULL;
}

run_output_t *run_output_new(FILE *out, FILE *err)
{
    run_output_t *self = mem_new(sizeof *self);
    FILE *const files[] = {out, err};

    for (int i = 0; i < RUN_OUTPUTS; i++) {
        self->streams[i].file = files[i];
        self->streams[i].screen = terminal_new(files[i]);
    }
    return self;
}

uint64_t run_output_add(run_output_t *self, uint64_t offset,
                        run_output_stream_t stream, bytes_t bytes)
{
    printed_stream_t *to = &self->streams[stream];
    uint64_t end = offset + bytes.size, lost = 0;

    if (self->next > 0 && offset > self->next)
        lost = offset - self->next;
    if (end <= self->next)
        return 0;
    if (offset < self->next) {
        size_t known = (size_t) (self->next - offset);

        bytes =
            (bytes_t){(const char *) bytes.bytes + known, bytes.size - known};
    }
    self->next = end;
    if (!to->is_broken)
        buffer_append(&to->waiting, bytes.bytes, bytes.size);
    return lost;
}

uint64_t run_output_next(const run_output_t *self)
{
    return self->next;
}

uint64_t run_output_written(const run_output_t *self)
{
    return self->next - self->streams[RUN_OUTPUT_OUT].waiting.size
           - self->streams[RUN_OUTPUT_ERR].waiting.size;
}

int run_output_fd(const run_output_t *self, run_output_stream_t stream)
{
    const printed_stream_t *from = &self->streams[stream];

    return from->waiting.size ? fileno(from->file) : -1;
}

bool run_output_is_waiting(const run_output_t *self)
{
    return run_output_written(self) != self->next;
}

static void write_raw(printed_stream_t *self, int fd, raw_terminal_t *raw)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t ignored;

    raw_terminal_filter(raw, buffer_bytes(&self->waiting), &out);
    if (out.size)
        (void) fd_write_all(fd, out.data, out.size, &ignored);
    buffer_clear(&self->waiting);
}

static void write_screen(printed_stream_t *self)
{
    terminal_colored(self->screen, (const char *) self->waiting.data,
                     self->waiting.size);
    fflush(self->file);
    buffer_clear(&self->waiting);
}

static void write_piece(printed_stream_t *self)
{
    size_t size = self->waiting.size < PIECE ? self->waiting.size : PIECE;
    ssize_t written = write(fileno(self->file), self->waiting.data, size);

    if (written >= 0)
        buffer_consume(&self->waiting, (size_t) written);
    else if (errno != EAGAIN && errno != EINTR) {
        self->is_broken = true;
        buffer_clear(&self->waiting);
    }
}

void run_output_write(run_output_t *self, run_output_stream_t stream,
                      raw_terminal_t *raw)
{
    printed_stream_t *from = &self->streams[stream];

    if (raw)
        write_raw(from, fileno(self->streams[RUN_OUTPUT_OUT].file), raw);
    else if (terminal_is_tty(from->screen))
        write_screen(from);
    else
        write_piece(from);
}
