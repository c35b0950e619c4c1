/* See progress.h. */
#include "gateway/cli/core/progress.h"

#include "base/buffer.h"
#include "base/clock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DRAW_MS   100
#define LINE_MS   1000 /* before the first line, and at least between two */
#define BAR_WIDTH 24

struct progress {
    char *name; /* owned */
    uint64_t total, done;
    int64_t made;         /* monotonic ms */
    int64_t begun, drawn; /* the same; drawn 0: never */
    int64_t next;         /* of lines: when the next one may come */
    int is_tty;
    int has_lines; /* without a terminal */
};

const char *progress_write_size(progress_size_t *self, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    double value = (double) bytes;
    size_t unit = 0;

    for (; value >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++)
        value /= 1024;
    (void) snprintf(self->text, sizeof self->text, unit ? "%.1f %s" : "%.0f %s",
                    value, units[unit]);
    return self->text;
}

progress_t *progress_new(const char *name, uint64_t total)
{
    progress_t *self = mem_new(sizeof *self);

    self->name = mem_text(name);
    self->total = total;
    self->made = self->begun = clock_monotonic_ms();
    self->is_tty = isatty(STDERR_FILENO);
    return self;
}

static void draw(progress_t *self, int64_t now)
{
    int64_t took = now - self->begun;
    uint64_t rate =
        took > 0 ? (uint64_t) ((double) self->done * 1000 / (double) took) : 0;
    char bar[BAR_WIDTH + 1];
    int filled = 0, percent = 0;

    if (self->total) {
        double part = (double) self->done / (double) self->total;

        part = part > 1 ? 1 : part;
        filled = (int) (part * BAR_WIDTH);
        percent = (int) (part * 100);
    }
    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '=', (size_t) filled);
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%.40s ", self->name);
    if (self->total)
        fprintf(stderr, "[%s] %3d%% ", bar, percent);
    fprintf(stderr, "%s %s/s", progress_size(self->done), progress_size(rate));
    fflush(stderr);
    self->drawn = now;
}

/* Returns when a line may come after one of now: a tenth of the time later that
 * has passed. An hour has some seventy. */
static int64_t next_line(int64_t since, int64_t now)
{
    int64_t took = now - since;

    return now + (took / 10 > LINE_MS ? took / 10 : LINE_MS);
}

static void print_line(progress_t *self, int64_t now)
{
    int64_t took = now - self->begun;
    uint64_t rate = (uint64_t) ((double) self->done * 1000 / (double) took);

    fprintf(stderr, "hearth: %.200s: %s", self->name,
            progress_size(self->done));
    if (self->total)
        fprintf(stderr, " of %s", progress_size(self->total));
    fprintf(stderr, ", %s/s\n", progress_size(rate));
    self->next = next_line(self->begun, now);
}

void progress_say_lines(progress_t *self)
{
    self->has_lines = !self->is_tty;
    self->next = self->begun + LINE_MS;
}

bool progress_is_due(const progress_t *self)
{
    int64_t now = clock_monotonic_ms();

    return self->is_tty ? now - self->drawn >= DRAW_MS
                        : self->has_lines && now >= self->next;
}

void progress_put_off(progress_t *self)
{
    self->begun = clock_monotonic_ms();
    self->next = next_line(self->made, self->begun);
}

void progress_name(progress_t *self, const char *name)
{
    free(self->name);
    self->name = mem_text(name);
}

void progress_expect(progress_t *self, uint64_t total)
{
    self->total = total;
}

void progress_show(progress_t *self, uint64_t done)
{
    int64_t now = clock_monotonic_ms();

    self->done = done;
    if (self->is_tty && now - self->drawn >= DRAW_MS)
        draw(self, now);
    if (self->has_lines && done && now >= self->next)
        print_line(self, now);
}

void progress_destroy(progress_t **self_p)
{
    progress_t *self = *self_p;

    if (!self)
        return;
    if (self->drawn && self->done >= self->total) {
        draw(self, clock_monotonic_ms());
        fputc('\n', stderr);
    } else if (self->drawn) {
        fputs("\r\033[K", stderr);
    }
    free(self->name);
    free(self);
    *self_p = NULL;
}
