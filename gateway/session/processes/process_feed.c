/* See process_feed.h. */
#include "gateway/session/processes/process_feed.h"

#include "base/buffer.h"

#include <errno.h>

typedef struct input_piece {
    struct input_piece *next; /* owned */
    uint64_t offset;
    unsigned stream;
    buffer_t bytes;
} input_piece_t;

typedef struct {
    request_t *request; /* owned; the request by which the client follows */
    uint64_t sent;      /* offset; bytes before it were sent */
    uint64_t taken;     /* offset; bytes before it were taken */
    int64_t heard_ms;   /* monotonic */
} viewer_t;

struct process_feed {
    input_piece_t *first, *last; /* owned */
    size_t bytes;                /* of all pieces */
    uint64_t end;                /* offset of the next byte */
    bool has_begun;              /* a piece has come: `end` is known */
    viewer_t viewers[PROCESS_VIEWERS];
    size_t viewer_count;
};

process_feed_t *process_feed_new(void)
{
    return mem_new(sizeof(process_feed_t));
}

static void drop_first(process_feed_t *self)
{
    input_piece_t *first = self->first;

    self->first = first->next;
    if (!self->first)
        self->last = NULL;
    self->bytes -= first->bytes.size;
    buffer_reset(&first->bytes);
    free(first);
}

void process_feed_destroy(process_feed_t **self_p)
{
    process_feed_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        drop_first(self);
    for (size_t i = 0; i < self->viewer_count; i++)
        request_destroy(&self->viewers[i].request);
    free(self);
    *self_p = NULL;
}

/* Forgets the oldest pieces, but none that a client has to be sent. */
static void forget(process_feed_t *self)
{
    uint64_t least = self->end;

    for (size_t i = 0; i < self->viewer_count; i++)
        if (self->viewers[i].sent < least)
            least = self->viewers[i].sent;
    while (self->first && self->bytes > PROCESS_RECENT_MAX
           && self->first->offset + self->first->bytes.size <= least)
        drop_first(self);
}

static void append(process_feed_t *self, unsigned stream, bytes_t bytes)
{
    input_piece_t *last = self->last;

    if (!last || last->stream != stream
        || last->bytes.size + bytes.size > PROCESS_RECENT_MAX / 4) {
        last = mem_new(sizeof *last);
        last->offset = self->end;
        last->stream = stream;
        if (self->last)
            self->last->next = last;
        else
            self->first = last;
        self->last = last;
    }
    buffer_append(&last->bytes, bytes.bytes, bytes.size);
    self->bytes += bytes.size;
    self->end += bytes.size;
}

int process_feed_add(process_feed_t *self, uint64_t offset, unsigned stream,
                     bytes_t bytes, size_t *ret_new, fault_t *fault)
{
    uint64_t known;

    if (!self->has_begun)
        self->end = offset;
    self->has_begun = true;
    if (offset > self->end)
        return fault_set(
            fault, EPROTO, "output of a process at %llu where %llu is next",
            (unsigned long long) offset, (unsigned long long) self->end);
    known = self->end - offset;
    *ret_new = known < bytes.size ? bytes.size - (size_t) known : 0;
    if (*ret_new == 0)
        return 0;
    append(self, stream,
           (bytes_t){(const char *) bytes.bytes + known, *ret_new});
    forget(self);
    return 0;
}

uint64_t process_feed_end(const process_feed_t *self)
{
    return self->end;
}

uint64_t process_feed_begin(const process_feed_t *self)
{
    return self->first ? self->first->offset : self->end;
}

/* Returns the index of the client's viewer; viewer_count if it does not follow.
 */
static size_t index_of(const process_feed_t *self, const request_t *request)
{
    const message_t *message = request->message;

    for (size_t i = 0;
         message_identity_count(message) && i < self->viewer_count; i++)
        if (request_is_of(self->viewers[i].request, request->frontend,
                          message_identity(message, 0)))
            return i;
    return self->viewer_count;
}

static viewer_t *find(process_feed_t *self, const request_t *request)
{
    size_t i = index_of(self, request);

    return i < self->viewer_count ? &self->viewers[i] : NULL;
}

bool process_feed_has_place(const process_feed_t *self,
                            const request_t *request)
{
    return self->viewer_count < PROCESS_VIEWERS
           || index_of(self, request) < self->viewer_count;
}

int process_feed_attach(process_feed_t *self, request_t **request_p,
                        uint64_t from, int64_t now_ms, fault_t *fault)
{
    cleanup_request request_t *request = take_ptr(*request_p);
    viewer_t *viewer = find(self, request);
    uint64_t begin = process_feed_begin(self);

    if (!viewer && self->viewer_count == PROCESS_VIEWERS)
        return fault_set(fault, EBUSY,
                         "%d clients follow this process, which is the limit",
                         PROCESS_VIEWERS);
    if (viewer)
        request_destroy(&viewer->request);
    else
        viewer = &self->viewers[self->viewer_count++];
    if (from < begin)
        from = begin;
    if (from > self->end)
        from = self->end;
    *viewer = (viewer_t){take_ptr(request), from, from, now_ms};
    return 0;
}

bool process_feed_has_viewers(const process_feed_t *self)
{
    return self->viewer_count > 0;
}

const request_t *process_feed_viewer(const process_feed_t *self, size_t index)
{
    return index < self->viewer_count ? self->viewers[index].request : NULL;
}

bool process_feed_taken(process_feed_t *self, const request_t *request,
                        uint64_t offset, int64_t now_ms)
{
    viewer_t *viewer = find(self, request);

    if (!viewer)
        return false;
    viewer->heard_ms = now_ms;
    if (offset > viewer->taken && offset <= viewer->sent)
        viewer->taken = offset;
    return true;
}

static request_t *take_viewer(process_feed_t *self, viewer_t *viewer)
{
    request_t *request = viewer->request;

    *viewer = self->viewers[--self->viewer_count];
    forget(self);
    return request;
}

void process_feed_leave(process_feed_t *self, const request_t *request)
{
    viewer_t *viewer = find(self, request);

    if (viewer) {
        request_t *gone = take_viewer(self, viewer);
        request_destroy(&gone);
    }
}

void process_feed_expire(process_feed_t *self, int64_t now_ms)
{
    for (size_t i = self->viewer_count; i-- > 0;)
        if (now_ms - self->viewers[i].heard_ms > PROCESS_LEASE_MS) {
            request_t *gone = take_viewer(self, &self->viewers[i]);
            request_destroy(&gone);
        }
}

bool process_feed_next(process_feed_t *self, process_piece_t *ret_piece)
{
    for (size_t i = 0; i < self->viewer_count; i++) {
        viewer_t *viewer = &self->viewers[i];
        const input_piece_t *piece = self->first;
        size_t skip;

        if (viewer->sent == self->end
            || viewer->sent - viewer->taken >= PROCESS_WINDOW)
            continue;
        while (piece->offset + piece->bytes.size <= viewer->sent)
            piece = piece->next;
        skip = (size_t) (viewer->sent - piece->offset);
        *ret_piece = (process_piece_t){
            viewer->request,
            viewer->sent,
            piece->stream,
            {piece->bytes.data + skip, piece->bytes.size - skip}};
        viewer->sent += ret_piece->bytes.size;
        return true;
    }
    return false;
}

bool process_feed_is_full(const process_feed_t *self)
{
    for (size_t i = 0; i < self->viewer_count; i++)
        if (self->viewers[i].sent < self->end)
            return true;
    return false;
}

request_t *process_feed_finish(process_feed_t *self)
{
    for (size_t i = 0; i < self->viewer_count; i++)
        if (self->viewers[i].sent == self->end)
            return take_viewer(self, &self->viewers[i]);
    return NULL;
}
