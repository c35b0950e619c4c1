/* See kernel_output.h. */
#include "gateway/session/actor/kernel_output.h"

#include "gateway/session/core/activity.h"
#include "gateway/session/core/announce.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/stop.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/output_batch.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/kernel/stream_merge.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/request_queue.h"
#include "protocol/jspan_write.h"

void kernel_output_count(session_t *self, uint64_t seq, size_t bytes,
                         bool is_output)
{
    kernel_link_note(self->link, seq, bytes);
    if (is_output)
        activity_note_output(self);
    if (output_limit_count(self->limits.output, bytes, is_output,
                           request_queue_runs_cell(self->requests))
        && self->cause.reason == END_REASON_NONE)
        stop_begin(self, END_REASON_OUTPUT, "%s",
                   output_limit_text(self->limits.output));
}

static publisher_event_t event_of(const session_t *self, const frame_t *frame)
{
    return (publisher_event_t){
        .type = frame_message_type(frame->type),
        .request = frame->request,
        .kernel_seq = frame->seq,
        .parent = request_queue_parent(self->requests, frame->request),
        .metadata = frame->metadata,
        .content = frame->content,
        .buffers = frame->buffers,
        .buffer_count = frame->buffer_count,
    };
}

/* Publishes the outputs of the batch. */
static int publish_batch(session_t *self, fault_t *fault)
{
    output_batch_t *batch = self->outputs.batch;
    size_t count = output_batch_count(batch), published;
    publisher_event_t events[OUTPUT_BATCH_MAX];
    int r;

    if (count == 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        frame_t frame = output_batch_frame(batch, i);
        events[i] = event_of(self, &frame);
    }
    r = publisher_events(self->publisher, events, count, &published, fault);
    for (size_t i = 0; i < published; i++)
        kernel_output_count(self, events[i].kernel_seq,
                            events[i].metadata.size + events[i].content.size,
                            true);
    output_batch_take(batch, published);
    return r;
}

/* Publishes the merged text. */
static int publish_merge(session_t *self, fault_t *fault)
{
    stream_merge_t *merge = self->outputs.merge;
    publisher_event_t event = {
        .type = "stream",
        .request = stream_merge_request(merge),
        .kernel_seq = stream_merge_seq(merge),
    };
    int r;

    event.parent = request_queue_parent(self->requests, event.request);
    event.content = stream_merge_close(merge);
    r = publisher_event(self->publisher, &event, fault);
    if (r < 0)
        return r;
    kernel_output_count(self, event.kernel_seq, event.content.size, true);
    stream_merge_clear(merge);
    return 0;
}

/* Publishes what waits. */
static int flush(session_t *self, fault_t *fault)
{
    int r = publish_batch(self, fault);

    return r == 0 && stream_merge_is_open(self->outputs.merge)
               ? publish_merge(self, fault)
               : r;
}

/* Writes the number of bytes that were dropped up to the event `seq` into the
 * journal. */
static int note_dropped(session_t *self, uint64_t seq, fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    int r;

    output_limit_write_dropped(self->limits.output, &content);
    r = publisher_note(self->publisher, "dropped", seq,
                       (const char *) content.data, fault);
    if (r < 0)
        return r;
    kernel_link_note(self->link, seq, 0);
    output_limit_forget_dropped(self->limits.output);
    return 0;
}

int kernel_output_stream(session_t *self, const frame_t *frame,
                         const kernel_permissions_stream_t *stream,
                         fault_t *fault)
{
    uint64_t dropped = output_limit_dropped_seq(self->limits.output);
    bool is_next = !stream_merge_is_open(self->outputs.merge)
                   || stream_merge_joins(self->outputs.merge, frame, stream);
    int r = is_next ? 0 : flush(self, fault);

    if (r == 0 && dropped)
        r = note_dropped(self, dropped, fault);
    if (r == 0)
        stream_merge_add(self->outputs.merge, frame, stream);
    return r;
}

bool kernel_output_is_past_limit(session_t *self, const frame_t *frame,
                                 size_t weight,
                                 const kernel_permissions_content_t *content)
{
    uint64_t messages = 1;

    if (self->cause.reason != END_REASON_NONE
        || !request_queue_runs_cell(self->requests))
        return false;
    if (stream_merge_is_open(self->outputs.merge)
        && (frame->type != FRAME_STREAM
            || !stream_merge_joins(self->outputs.merge, frame,
                                   &content->stream)))
        messages++;
    return output_limit_is_past(
        self->limits.output,
        output_batch_bytes(self->outputs.batch)
            + stream_merge_bytes(self->outputs.merge) + weight,
        output_batch_count(self->outputs.batch) + messages);
}

/* Sends the cell the reason once, and interrupts it. */
static void stop_cell(session_t *self)
{
    cleanup_free char *remark =
        mem_format("%s: it is interrupted, and its further output is left out",
                   output_limit_text(self->limits.output));

    (void) replies_remark(self, request_queue_running(self->requests), remark);
    announce_limit(self, end_reason_name(END_REASON_OUTPUT),
                   output_limit_max(self->limits.output));
    escalation_begin_for_limit(self, CELL_LIMIT_OUTPUT);
}

int kernel_output_drop(session_t *self, const frame_t *frame, fault_t *fault)
{
    int r = flush(self, fault);

    if (r < 0)
        return r;
    if (output_limit_drop(self->limits.output, frame))
        stop_cell(self);
    kernel_link_note_dropped(self->link, output_limit_weight(frame));
    return 0;
}

void kernel_output_count_call(session_t *self)
{
    if (output_limit_count_call(self->limits.output,
                                request_queue_runs_cell(self->requests))
        && self->cause.reason == END_REASON_NONE)
        stop_cell(self);
}

/* Returns true if the frame is a KeyboardInterrupt that a limit has caused. */
static bool is_limit_error(const session_t *self, const frame_t *frame,
                           jspan_t content)
{
    return interrupt_limit(self->interrupt) != CELL_LIMIT_NONE
           && frame->type == FRAME_ERROR
           && request_queue_runs(self->requests, frame->request)
           && jspan_text_equals(jspan_member(content, "ename"),
                                "KeyboardInterrupt");
}

static void write_limit_error(const session_t *self, jspan_t content,
                              buffer_t *out)
{
    jspan_t traceback = jspan_member(content, "traceback");
    cleanup_free char *evalue =
        mem_format("%s and was interrupted",
                   interrupt_limit(self->interrupt) == CELL_LIMIT_OUTPUT
                       ? output_limit_text(self->limits.output)
                       : "the cell ran past its time limit");

    jspan_write_begin(out);
    jspan_write_text(out, "ename", replies_limit_error(self));
    jspan_write_text(out, "evalue", evalue);
    jspan_write_raw(out, "traceback",
                    (bytes_t){traceback.text, traceback.size});
    jspan_write_end(out);
}

int kernel_output_add(session_t *self, const frame_t *frame, fault_t *fault)
{
    bool is_next = !stream_merge_is_open(self->outputs.merge)
                   && !output_limit_dropped_seq(self->limits.output)
                   && output_batch_has_room(self->outputs.batch, frame);
    int r = is_next ? 0 : kernel_output_flush(self, fault);

    if (r == 0)
        output_batch_add(self->outputs.batch, frame);
    return r;
}

int kernel_output_publish(session_t *self, const frame_t *frame,
                          const kernel_permissions_content_t *content,
                          fault_t *fault)
{
    cleanup_buffer buffer_t limited = BUFFER_EMPTY;
    publisher_event_t event = event_of(self, frame);

    if (is_limit_error(self, frame, content->object)) {
        write_limit_error(self, content->object, &limited);
        event.content = buffer_bytes(&limited);
    }
    return publisher_event(self->publisher, &event, fault);
}

int kernel_output_flush(session_t *self, fault_t *fault)
{
    uint64_t dropped = output_limit_dropped_seq(self->limits.output);
    int r = flush(self, fault);

    return r < 0 || !dropped ? r : note_dropped(self, dropped, fault);
}

uint64_t kernel_output_next_seq(const session_t *self)
{
    uint64_t dropped = output_limit_dropped_seq(self->limits.output);

    if (dropped)
        return dropped + 1;
    if (stream_merge_is_open(self->outputs.merge))
        return stream_merge_seq(self->outputs.merge) + 1;
    if (output_batch_count(self->outputs.batch) > 0)
        return output_batch_seq(self->outputs.batch) + 1;
    return kernel_link_seq(self->link) + 1;
}

void kernel_output_forget(session_t *self)
{
    output_batch_clear(self->outputs.batch);
    stream_merge_clear(self->outputs.merge);
}
