/* See unlogged_replies.h. */
#include "gateway/session/requests/unlogged_replies.h"

#include "base/buffer.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_SIZE (16 << 10)

/* Requests by their numbers, both ends included. */
typedef struct {
    uint64_t first, last;
} number_range_t;

struct unlogged_replies {
    char *path;             /* owned; of the file */
    number_range_t *ranges; /* owned */
    size_t count;
};

unlogged_replies_t *unlogged_replies_new(const char *folder)
{
    unlogged_replies_t *self = mem_new(sizeof *self);

    self->path = mem_format("%s/reserve", folder);
    return self;
}

void unlogged_replies_destroy(unlogged_replies_t **self_p)
{
    unlogged_replies_t *self = *self_p;

    if (!self)
        return;
    free(self->path);
    free(self->ranges);
    free(self);
    *self_p = NULL;
}

int unlogged_replies_reserve(const unlogged_replies_t *self, fault_t *fault)
{
    cleanup_fd int fd =
        open(self->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_SIZE);

    return code ? fault_set(fault, code, "%s: %s", self->path, strerror(code))
                : 0;
}

void unlogged_replies_add(unlogged_replies_t *self, uint64_t number)
{
    number_range_t *last = self->count ? &self->ranges[self->count - 1] : NULL;

    if (last && last->last + 1 == number) {
        last->last = number;
        return;
    }
    self->ranges =
        mem_resize(self->ranges, (self->count + 1) * sizeof *self->ranges);
    self->ranges[self->count++] = (number_range_t){number, number};
}

size_t unlogged_replies_count(const unlogged_replies_t *self)
{
    return self->count;
}

static void write_ranges(const unlogged_replies_t *self, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_array(out, "requests");
    for (size_t i = 0; i < self->count; i++) {
        jspan_write_array(out, NULL);
        jspan_write_count(out, NULL, self->ranges[i].first);
        jspan_write_count(out, NULL, self->ranges[i].last);
        jspan_write_end_array(out);
    }
    jspan_write_end_array(out);
    jspan_write_end(out);
}

int unlogged_replies_pay(unlogged_replies_t *self,
                         unlogged_replies_note_fn *note, void *arg,
                         fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    const char *text;
    fault_t ignored;
    int r;

    if (!self->count)
        return 0;
    write_ranges(self, &content);
    text = (const char *) content.data;
    r = note(arg, text, fault);
    if (r < 0 && unlink(self->path) == 0)
        r = note(arg, text, fault);
    if (r < 0)
        return r;
    self->count = 0;
    (void) unlogged_replies_reserve(self, &ignored);
    return 0;
}

void unlogged_replies_read(bytes_t content, unlogged_replies_range_fn *range,
                           void *arg)
{
    jspan_t object, ranges, pair;
    fault_t fault;
    size_t cursor = 0;

    if (jspan_check(content.bytes, content.size, &object, &fault) < 0)
        return;
    ranges = jspan_member(object, "requests");
    while (jspan_each(ranges, &cursor, NULL, &pair)) {
        jspan_t first_text, last_text;
        size_t inner = 0;
        int64_t first, last;

        if (jspan_each(pair, &inner, NULL, &first_text)
            && jspan_each(pair, &inner, NULL, &last_text)
            && jspan_to_integer(first_text, &first)
            && jspan_to_integer(last_text, &last))
            range(arg, (uint64_t) first, (uint64_t) last);
    }
}
