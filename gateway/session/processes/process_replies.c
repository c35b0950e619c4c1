/* See process_replies.h. */
#include "gateway/session/processes/process_replies.h"

#include "base/clock.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/requests/error_reply.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <inttypes.h>

static void write_reply(const process_t *process, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "status", "ok");
    process_write(process, "process", out);
    jspan_write_count(out, "offset", process_feed_begin(process->feed));
    jspan_write_count(out, "input_taken", process->input.taken);
    jspan_write_end(out);
}

void process_replies_answer(session_t *self, const request_t *request,
                            const process_t *process)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    write_reply(process, &content);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&content));
}

void process_replies_refuse(session_t *self, const request_t *request,
                            const char *ename, const char *evalue)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    error_reply_write(request, 0, ename, evalue, &content);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&content));
}

void process_replies_refuse_fault(session_t *self, const request_t *request,
                                  const fault_t *fault)
{
    process_replies_refuse(self, request,
                           fault->code == EAGAIN  ? "SessionStarting"
                           : fault->code == EBUSY ? "ProcessBusy"
                           : fault->code == E2BIG || fault->code == EINVAL
                               ? "BadRequest"
                               : "ProcessNotStarted",
                           fault->text);
}

bool process_replies_check_runs(session_t *self, const process_t *process,
                                const request_t *request)
{
    cleanup_free char *sentence = NULL;

    if (process->link && process->phase == PROCESS_RUNNING)
        return true;
    sentence = mem_format(
        "process %" PRIu64 " %s", process->number,
        process->phase == PROCESS_STARTING ? "has not begun yet" : "has ended");
    process_replies_refuse(self, request, "ProcessEnded", sentence);
    return false;
}

/* Returns true if the process was never there for a client. */
static bool has_not_begun(const process_t *process)
{
    return process->phase == PROCESS_ENDED
           && (process->fate == PROCESS_BY_KERNEL
               || process->fate == PROCESS_LOST
               || process->end > KEEPER_SIGNALLED);
}

void process_replies_answer_begun(session_t *self, process_t *process,
                                  request_t **request_p, bool follows)
{
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    fault_t ignored;

    if (has_not_begun(process)) {
        process_write_end(process, &sentence);
        process_replies_refuse(self, *request_p, "ProcessNotStarted",
                               (const char *) sentence.data);
        return;
    }
    process_replies_answer(self, *request_p, process);
    if (follows
        && process_feed_attach(process->feed, request_p, 0,
                               clock_monotonic_ms(), &ignored)
               == 0)
        process_replies_feed(self, process);
}

void process_replies_answer_start(session_t *self, process_t *process)
{
    cleanup_request request_t *request = take_ptr(process->start.request);

    process->asked_ms = 0;
    if (request)
        process_replies_answer_begun(self, process, &request,
                                     process->start.follows);
}

static void send_piece(session_t *self, const process_t *process,
                       const process_piece_t *piece)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    jspan_write_begin(&content);
    jspan_write_count(&content, "process", process->number);
    jspan_write_text(&content, "stream",
                     piece->stream == KEEPER_STDERR ? "stderr" : "stdout");
    jspan_write_count(&content, "offset", piece->offset);
    jspan_write_end(&content);
    publisher_send_beside(self->publisher, piece->viewer, "process_output",
                          buffer_bytes(&content), &piece->bytes);
}

static void send_end(session_t *self, const process_t *process)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    request_t *viewer;

    process_write(process, NULL, &content);
    while ((viewer = process_feed_finish(process->feed))) {
        publisher_send_beside(self->publisher, viewer, "process_ended",
                              buffer_bytes(&content), NULL);
        request_destroy(&viewer);
    }
}

void process_replies_feed(session_t *self, process_t *process)
{
    process_piece_t piece;

    while (process_feed_next(process->feed, &piece))
        send_piece(self, process, &piece);
    if (process->phase == PROCESS_ENDED)
        send_end(self, process);
    else if (process->link)
        keeper_link_hold(process->link, process_feed_is_full(process->feed));
    if (process_feed_has_viewers(process->feed))
        timers_start_once(self->timers, TIMER_PROCESSES, PROCESS_LOOK_MS);
}

void process_replies_send_input(session_t *self, const process_t *process)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    const request_t *viewer;

    jspan_write_begin(&content);
    jspan_write_count(&content, "process", process->number);
    jspan_write_count(&content, "input_taken", process->input.taken);
    jspan_write_end(&content);
    for (size_t i = 0; (viewer = process_feed_viewer(process->feed, i)); i++)
        publisher_send_beside(self->publisher, viewer, "process_input_taken",
                              buffer_bytes(&content), NULL);
}
