/* See output_limit.h. */
#include "gateway/session/limits/output_limit.h"

#include "base/buffer.h"
#include "protocol/jspan_write.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct {
    uint64_t bytes, messages;
} amount_t;

struct output_limit {
    const profile_limits_t *limits; /* borrowed */
    char *source;                   /* owned */
    int64_t cell;                   /* execution_count of the last cell */
    amount_t by_cell;               /* since the last cell began */
    amount_t by_session;            /* since the kernel began, or the gateway */
    amount_t dropped;               /* of the cell */
    bool is_over;                   /* the cell's output is dropped */
    uint64_t dropped_seq;           /* last drop without a record; 0: none */
    uint64_t max;                   /* of the limit in `text` */
    char text[256];                 /* the limit that was reached */
};

output_limit_t *output_limit_new(const profile_limits_t *limits,
                                 const char *source)
{
    output_limit_t *self = mem_new(sizeof *self);

    self->limits = limits;
    self->source = mem_text(source);
    return self;
}

void output_limit_destroy(output_limit_t **self_p)
{
    output_limit_t *self = *self_p;

    if (!self)
        return;
    free(self->source);
    free(self);
    *self_p = NULL;
}

void output_limit_reset(output_limit_t *self)
{
    *self = (struct output_limit){
        .limits = self->limits, .source = self->source, .cell = 1};
}

void output_limit_begin_cell(output_limit_t *self, int64_t cell)
{
    self->cell = cell;
    self->by_cell = self->dropped = (amount_t){0, 0};
    self->is_over = false;
}

size_t output_limit_weight(const frame_t *frame)
{
    size_t size = frame->content.size + frame->metadata.size;

    for (size_t i = 0; i < frame->buffer_count; i++)
        size += frame->buffers[i].size;
    return size;
}

bool output_limit_bounds(const frame_t *frame, size_t weight)
{
    switch (frame->type) {
    case FRAME_REPLY:
    case FRAME_READY:
    case FRAME_MARKED:
    case FRAME_STRUCK:
    case FRAME_LOOKED:
    case FRAME_YIELDED:
    case FRAME_INPUT_REQUEST:
    case FRAME_AWAITING:
    case FRAME_CALL: /* tool_calls.h bounds its bytes */
    case FRAME_UNCALL:
        return false;
    case FRAME_ERROR:
        return weight > OUTPUT_LIMIT_ERROR_MAX;
    default:
        return true;
    }
}

/* Returns true if `used` is past the limit, and notes it; 0 means no limit. */
static bool is_reached(output_limit_t *self, const char *who, uint64_t used,
                       uint64_t limit, const char *unit, const char *key)
{
    if (!limit || used <= limit)
        return false;
    self->max = limit;
    snprintf(self->text, sizeof self->text,
             "%s gave %" PRIu64 " %s of output while running cell %" PRId64
             "; at most %" PRIu64 " are permitted (limits/%s of %.72s)",
             who, used, unit, self->cell, limit, key, self->source);
    return true;
}

static bool is_cell_reached(output_limit_t *self, amount_t used)
{
    const profile_limits_t *limits = self->limits;

    return is_reached(self, "the cell", used.bytes, limits->cell_output,
                      "bytes", "cell_output")
           || is_reached(self, "the cell", used.messages, limits->cell_messages,
                         "messages", "cell_messages");
}

static bool is_session_reached(output_limit_t *self)
{
    const profile_limits_t *limits = self->limits;

    return is_reached(self, "the session", self->by_session.bytes,
                      limits->session_output, "bytes", "session_output")
           || is_reached(self, "the session", self->by_session.messages,
                         limits->session_messages, "messages",
                         "session_messages");
}

static void add(amount_t *amount, uint64_t bytes)
{
    amount->bytes += bytes;
    amount->messages++;
}

bool output_limit_is_past(output_limit_t *self, uint64_t bytes,
                          uint64_t messages)
{
    return self->is_over
           || is_cell_reached(self,
                              (amount_t){self->by_cell.bytes + bytes,
                                         self->by_cell.messages + messages});
}

bool output_limit_drop(output_limit_t *self, const frame_t *frame)
{
    bool is_first = !self->is_over;

    self->is_over = true;
    self->dropped_seq = frame->seq;
    add(&self->dropped, output_limit_weight(frame));
    return is_first;
}

uint64_t output_limit_dropped_seq(const output_limit_t *self)
{
    return self->dropped_seq;
}

void output_limit_write_dropped(const output_limit_t *self, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_count(out, "bytes", self->dropped.bytes);
    jspan_write_count(out, "messages", self->dropped.messages);
    jspan_write_end(out);
}

void output_limit_forget_dropped(output_limit_t *self)
{
    self->dropped_seq = 0;
}

bool output_limit_count(output_limit_t *self, uint64_t bytes, bool is_output,
                        bool is_cell)
{
    if (is_output)
        add(&self->by_cell, bytes);
    add(&self->by_session, bytes);
    /* An interrupt does not reach a thread that outputs between cells. */
    return is_session_reached(self)
           || (!is_cell && is_cell_reached(self, self->by_cell));
}

bool output_limit_count_call(output_limit_t *self, bool is_cell)
{
    amount_t used = {self->by_cell.bytes, self->by_cell.messages + 1};

    if (is_cell && self->is_over)
        return false;
    if (is_cell && is_cell_reached(self, used)) {
        self->is_over = true;
        return true;
    }
    self->by_cell = used;
    return false;
}

const char *output_limit_text(const output_limit_t *self)
{
    return self->text;
}

uint64_t output_limit_max(const output_limit_t *self)
{
    return self->max;
}

bool output_limit_is_over(const output_limit_t *self)
{
    return self->is_over;
}

uint64_t output_limit_cell_bytes(const output_limit_t *self)
{
    return self->by_cell.bytes;
}
