/* Printed text: of Python code (link_write), and of everything that writes to
 * descriptors 1 and 2, which are pipes. Text that waits has one stream and one
 * cause; other text pushes it out. */
#include "kernels/hearth_kernel/link/streams.h"
#include "kernels/hearth_kernel/link/connection.h"

#include "protocol/jspan_write.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define DRAIN_MAX (256 * 1024) /* the most bytes that one caller reads */
/* after this time a partial line is sent */
#define TEXT_DELAY (20 * MILLISECOND)
/* after this time without text a line is sent at once */
#define TEXT_PAUSE (5 * MILLISECOND)
/* A write to a pipe takes at least the time of a system call: between two
 * pieces of text that follow each other faster the pipes need no look. */
#define WRITE_GAP 1000

int64_t link_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t) now.tv_sec * 1000 * MILLISECOND + now.tv_nsec;
}

/* Text */

void link_arm_timer(link_t *self)
{
    static const struct itimerspec once = {.it_value.tv_nsec = TEXT_DELAY};

    if (self->is_armed)
        return;
    self->is_armed = true;
    timerfd_settime(self->timer, 0, &once, NULL);
}

void link_commit_text(link_t *self)
{
    frame_t frame = {.type = FRAME_STREAM, .request = self->printed.request};

    if (!self->printed.text.size)
        return;
    buffer_clear(&self->printed.content);
    jspan_write_begin(&self->printed.content);
    jspan_write_text(&self->printed.content, "name",
                     self->printed.stream == LINK_STDOUT ? "stdout" : "stderr");
    jspan_write_bytes(&self->printed.content, "text",
                      buffer_bytes(&self->printed.text));
    jspan_write_end(&self->printed.content);
    frame.content = buffer_bytes(&self->printed.content);
    outbox_put(self->outbox, &frame);
    buffer_clear(&self->printed.text);
    if (self->printed.content.capacity > LINK_TEXT_MAX)
        buffer_reset(&self->printed.content);
    self->printed.committed_at = link_now();
}

/* Notes how long the last line of stdout is now. */
static void note_line(link_t *self, link_stream_t stream, uint64_t request,
                      const uint8_t *text, size_t size)
{
    link_printed_t *printed = &self->printed;
    const uint8_t *feed;

    if (stream != LINK_STDOUT || !size)
        return;
    feed = memrchr(text, '\n', size);
    if (feed || printed->line_request != request)
        printed->line = 0;
    printed->line += feed ? (size_t) (text + size - feed) - 1 : size;
    printed->line_request = request;
}

/* Makes the text that waits be of this stream and request, with room. */
static void prepare_text(link_t *self, link_stream_t stream, uint64_t request,
                         size_t size)
{
    if (self->printed.text.size
        && (self->printed.stream != stream || self->printed.request != request
            || self->printed.text.size + size > LINK_TEXT_MAX))
        link_commit_text(self);
    self->printed.stream = stream;
    self->printed.request = request;
}

/* Returns true if there is room for one more event: text that waits will need
 * its place, too. */
static bool has_room(const link_t *self)
{
    return outbox_has_room(self->outbox, self->printed.text.size + 1);
}

/* Reads what is in a pipe, up to `max` bytes. */
static void read_pipe(link_t *self, link_stream_t stream, size_t max)
{
    while (max > 0 && has_room(self)) {
        size_t want = max < PIPE_READ ? max : PIPE_READ;
        size_t before;
        ssize_t size =
            read(self->printed.pipes[stream], self->printed.bytes, want);

        /* No end is left to write to: user code closed the descriptor. */
        if (size == 0)
            epoll_ctl(self->epoll, EPOLL_CTL_DEL, self->printed.pipes[stream],
                      NULL);
        if (size <= 0)
            return;
        /* At worst every byte becomes the three of U+FFFD. */
        prepare_text(self, stream, self->printed.attributed,
                     3 * (size_t) size + 4);
        before = self->printed.text.size;
        text_decode(&self->printed.decoders[stream], self->printed.bytes,
                    (size_t) size, &self->printed.text);
        note_line(self, stream, self->printed.attributed,
                  self->printed.text.data + before,
                  self->printed.text.size - before);
        link_arm_timer(self);
        max -= (size_t) size;
    }
}

/* Reads what the pipes have. Mostly they are empty, which one call says of
 * both. */
void link_drain_pipes(link_t *self)
{
    struct pollfd looks[] = {{.fd = self->printed.pipes[0], .events = POLLIN},
                             {.fd = self->printed.pipes[1], .events = POLLIN}};

    if (poll(looks, 2, 0) <= 0)
        return;
    if (looks[0].revents)
        read_pipe(self, LINK_STDOUT, DRAIN_MAX);
    if (looks[1].revents)
        read_pipe(self, LINK_STDERR, DRAIN_MAX);
}

void link_watch_pipes(link_t *self, uint32_t events)
{
    for (int i = 0; i < 2; i++) {
        struct epoll_event event = {.events = events,
                                    .data.u64 = PIPE_STDOUT + (uint64_t) i};

        epoll_ctl(self->epoll, EPOLL_CTL_MOD, self->printed.pipes[i], &event);
    }
}

/* Leaves data in the pipes while there is no room, so that their writers wait
 * too. */
static void choke(link_t *self)
{
    if (!self->printed.is_choked)
        link_watch_pipes(self, 0);
    self->printed.is_choked = true;
}

/* Writes in a child, where lines stay whole, so that children can share a pipe.
 */
static void write_child(link_t *self)
{
    const uint8_t *bytes = self->printed.text.data;
    size_t size = self->printed.text.size;

    while (size > 0) {
        ssize_t written =
            write(self->printed.stream == LINK_STDOUT ? 1 : 2, bytes, size);

        if (written < 0 && errno != EINTR)
            break;
        if (written > 0) {
            bytes += written;
            size -= (size_t) written;
        }
    }
    buffer_clear(&self->printed.text);
}

static void write_as_child(link_t *self, link_stream_t stream, const char *text,
                           size_t size)
{
    if (self->printed.stream != stream)
        write_child(self);
    self->printed.stream = stream;
    buffer_append(&self->printed.text, text, size);
    if (memchr(text, '\n', size) || self->printed.text.size > PIPE_READ)
        write_child(self);
}

int link_write(link_t *self, link_stream_t stream, uint64_t request,
               const char *text, size_t size)
{
    int64_t now;
    bool is_taken;

    if (!size)
        return 0;
    pthread_mutex_lock(&self->lock);
    if (self->is_child) {
        write_as_child(self, stream, text, size);
        pthread_mutex_unlock(&self->lock);
        return 0;
    }
    now = link_now();
    if (now - self->printed.written_at > WRITE_GAP)
        link_drain_pipes(self);
    self->printed.written_at = now;
    is_taken = outbox_has_room(self->outbox, self->printed.text.size + size);
    if (is_taken) {
        prepare_text(self, stream, request, size);
        buffer_append(&self->printed.text, text, size);
        note_line(self, stream, request, (const uint8_t *) text, size);
        if (text[size - 1] == '\n'
            && now - self->printed.committed_at > TEXT_PAUSE) {
            link_commit_text(self);
            link_send_events(self);
        } else {
            link_arm_timer(self);
        }
    } else {
        self->is_awaited = true;
        link_commit_text(self);
        link_send_events(self);
    }
    pthread_mutex_unlock(&self->lock);
    return is_taken ? 0 : -EAGAIN;
}

void link_flush(link_t *self)
{
    pthread_mutex_lock(&self->lock);
    if (self->is_child) {
        write_child(self);
    } else {
        link_drain_pipes(self);
        link_commit_text(self);
        link_send_events(self);
    }
    pthread_mutex_unlock(&self->lock);
}

size_t link_line(link_t *self, uint64_t request)
{
    size_t line;

    pthread_mutex_lock(&self->lock);
    if (!self->is_child)
        link_drain_pipes(self);
    line = self->printed.line_request == request ? self->printed.line : 0;
    pthread_mutex_unlock(&self->lock);
    return line;
}

void link_on_timer(link_t *self)
{
    uint64_t expirations;

    if (read(self->timer, &expirations, sizeof expirations) < 0)
        return;
    self->is_armed = false;
    link_commit_text(self);
    link_send_events(self);
}

void link_on_pipe(link_t *self, link_stream_t stream)
{
    read_pipe(self, stream, PIPE_READ);
    if (!has_room(self)) {
        link_commit_text(self);
        link_send_events(self);
        if (!has_room(self))
            choke(self);
    }
    if (self->printed.text.size
        && self->printed.text.data[self->printed.text.size - 1] == '\n'
        && link_now() - self->printed.committed_at > TEXT_PAUSE) {
        link_commit_text(self);
        link_send_events(self);
    }
}

/* Assigns the data in the pipes to the old cause: it was written before. */
void link_attribute(link_t *self, uint64_t request)
{
    pthread_mutex_lock(&self->lock);
    if (!self->is_child)
        link_drain_pipes(self);
    self->printed.attributed = request;
    pthread_mutex_unlock(&self->lock);
}

uint64_t link_attributed(link_t *self)
{
    uint64_t request;

    pthread_mutex_lock(&self->lock);
    request = self->printed.attributed;
    pthread_mutex_unlock(&self->lock);
    return request;
}
