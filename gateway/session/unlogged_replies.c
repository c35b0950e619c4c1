/* Requests that were answered while the journal could not take the reply.
 * Without a word in the journal the next gateway would run them, although
 * their clients were told that they failed or were aborted. So their numbers
 * are noted, as ranges in one record; a small file is kept to be given up for
 * it when the disk is full. */
#include "gateway/session/internal.h"

#include "base/fd.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define RESERVE_SIZE (16 << 10)
#define RETRY_MS     500

static char *reserve_path(const self_t *self)
{
    return mem_format("%s/reserve", self->spec->state_folder);
}

void debts_reserve(self_t *self)
{
    cleanup_free char *path = reserve_path(self);
    cleanup_fd int fd =
        open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = fd < 0 ? errno : posix_fallocate(fd, 0, RESERVE_SIZE);

    if (code)
        log_debug("session=%s reserve: %s", self->spec->id, strerror(code));
}

void debts_add(self_t *self, uint64_t number)
{
    debts_t *debts = &self->debts;
    number_range_t *last =
        debts->count ? &debts->ranges[debts->count - 1] : NULL;

    if (last && last->last + 1 == number) {
        last->last = number;
        return;
    }
    debts->ranges =
        mem_resize(debts->ranges, (debts->count + 1) * sizeof *debts->ranges);
    debts->ranges[debts->count++] = (number_range_t){number, number};
}

static void write_ranges(const debts_t *debts, buffer_t *out)
{
    buffer_text(out, "{\"requests\":[");
    for (size_t i = 0; i < debts->count; i++)
        buffer_format(out, "%s[%" PRIu64 ",%" PRIu64 "]", i ? "," : "",
                      debts->ranges[i].first, debts->ranges[i].last);
    buffer_text(out, "]}");
}

static int note(self_t *self, const char *content, fault_t *fault)
{
    cleanup_free char *path = NULL;
    int r = output_note(self->output, "answered", 0, content, fault);

    if (r == 0)
        return 0;
    path = reserve_path(self);
    if (unlink(path) == 0)
        r = output_note(self->output, "answered", 0, content, fault);
    return r;
}

static int on_retry(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->debts.timer = 0;
    debts_pay(self);
    return 0;
}

void debts_pay(self_t *self)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    if (!self->debts.count)
        return;
    write_ranges(&self->debts, &content);
    if (note(self, (const char *) content.data, &fault) < 0) {
        log_warning("session=%s answers not noted: %s", self->spec->id,
                    fault.text);
        session_start_timer(self, &self->debts.timer, RETRY_MS, on_retry);
        return;
    }
    session_stop_timer(self, &self->debts.timer);
    self->debts.count = 0;
    debts_reserve(self);
}

void debts_each(bytes_t content,
                void (*handler)(self_t *self, uint64_t first, uint64_t last),
                self_t *self)
{
    json_span_t object, ranges, range;
    fault_t fault;
    size_t cursor = 0;

    if (json_check(content.bytes, content.size, &object, &fault) < 0)
        return;
    ranges = json_member(object, "requests");
    while (json_each(ranges, &cursor, NULL, &range)) {
        json_span_t first_text, last_text;
        size_t inner = 0;
        int64_t first, last;

        if (json_each(range, &inner, NULL, &first_text)
            && json_each(range, &inner, NULL, &last_text)
            && json_to_integer(first_text, &first)
            && json_to_integer(last_text, &last))
            handler(self, (uint64_t) first, (uint64_t) last);
    }
}

void debts_clear(self_t *self)
{
    free(self->debts.ranges);
    self->debts = (debts_t){0};
}
