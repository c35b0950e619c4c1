/* See loss_report.h. The loss goes out with an event that is in the journal,
 * and the reader is noted after it. If the gateway is killed in between, the
 * event says who has it. The note says it when a compaction has removed the
 * event. */
#include "gateway/session/core/loss_report.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/requests/request_queue.h"
#include "notebooks/journal/head.h"
#include "protocol/jspan_write.h"

#include <string.h>

static void write_metadata(const json_t *loss, buffer_t *metadata)
{
    cleanup_free char *text = json_dumps(loss, JSON_COMPACT);

    jspan_write_begin(metadata);
    jspan_write_object(metadata, "hearth");
    jspan_write_raw(metadata, "lost", text_bytes(text));
    jspan_write_end(metadata);
    jspan_write_end(metadata);
}

/* Returns true if the variables are coming back, because the client that
 * revives the session lives. */
static bool is_being_revived(const session_t *self)
{
    return loss_notice_is_reviving(self->losses)
           && journal_is_held(self->journal);
}

bool loss_report_write(session_t *self, const request_t *request,
                       buffer_t *metadata)
{
    bool is_reviving = is_being_revived(self);
    json_auto_t *loss = NULL;
    char reader[LOSS_READERS_NAME_SIZE];

    if (!loss_readers_name(request, reader)
        || !loss_notice_is_due(self->losses, reader))
        return false;
    loss = loss_notice_model(self->losses, reader, is_reviving);
    write_metadata(loss, metadata);
    return !is_reviving;
}

static void note(session_t *self, const char *reader)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    jspan_write_begin(&content);
    jspan_write_text(&content, "reader", reader);
    jspan_write_end(&content);
    if (publisher_note(self->publisher, "loss_reported", 0,
                       (const char *) content.data, &fault)
        < 0)
        log_warning("session=%s loss_reported: %s", self->spec->id, fault.text);
}

void loss_report_note(session_t *self, const request_t *request)
{
    char reader[LOSS_READERS_NAME_SIZE];

    if (!loss_readers_name(request, reader))
        return;
    loss_notice_deliver(self->losses, reader);
    note(self, reader);
}

/* --- A client that asks --- */

json_t *loss_report_model(const session_t *self, const char *identity)
{
    uint64_t seq = loss_notice_seq(self->losses);
    char reader[LOSS_READERS_NAME_SIZE];
    json_t *loss;

    /* A fresh kernel may still be starting, or there may be none. */
    loss_readers_digest(identity, reader);
    if (!seq || loss_notice_was_reported(self->losses, reader))
        return NULL;
    loss = loss_notice_model(self->losses, reader, is_being_revived(self));
    json_object_set_new(loss, "seq", json_integer((json_int_t) seq));
    return loss;
}

/* The journal of a session that is gone takes no more notes, so the next
 * gateway reports that loss again. */
void loss_report_deliver(session_t *self, const char *identity, uint64_t seq)
{
    char reader[LOSS_READERS_NAME_SIZE];

    loss_readers_digest(identity, reader);
    if (seq != loss_notice_seq(self->losses) || is_being_revived(self)
        || loss_notice_was_reported(self->losses, reader))
        return;
    loss_notice_deliver(self->losses, reader);
    if (!session_state_is(self->state, PHASE_GONE))
        note(self, reader);
}

/* --- A loss that is about to happen --- */

static bool is_reader(const request_t *request)
{
    char ignored[LOSS_READERS_NAME_SIZE];

    return loss_readers_name(request, ignored);
}

/* Returns true if a client that wants to learn of losses waits. */
static bool has_reader(const session_t *self, uint64_t last)
{
    const request_t *running = request_queue_running(self->requests);

    if (running && !request_is_answered(running) && is_reader(running))
        return true;
    for (const request_t *at = request_queue_first(self->requests);
         at && at->number <= last; at = at->next)
        if (is_reader(at))
            return true;
    return false;
}

void loss_report_foresee(session_t *self, uint64_t last, const char *ename)
{
    bool is_in_cell = strcmp(ename, "KernelDied") == 0
                      && request_queue_runs_cell(self->requests);

    if (loss_notice_has_kernel(self->losses) && has_reader(self, last))
        loss_notice_foresee(self->losses, clock_wall_us(), self->cause.detail,
                            is_in_cell);
}

void loss_report_write_foreseen(session_t *self, const request_t *request,
                                buffer_t *metadata)
{
    json_auto_t *loss = NULL;
    char reader[LOSS_READERS_NAME_SIZE];

    if (!loss_readers_name(request, reader)
        || !(loss = loss_notice_foreseen(self->losses, reader)))
        return;
    write_metadata(loss, metadata);
    loss_notice_expect(self->losses, reader);
}

void loss_report_forget(session_t *self)
{
    loss_notice_forget(self->losses);
}

/* --- The records --- */

/* Notes the readers of a loss that happens now. They have got it already. */
static void on_record(void *arg, const journal_record_t *record)
{
    session_t *self = arg;
    const char *reader;

    if (!loss_notice_add(self->losses, record))
        return;
    for (size_t i = 0; (reader = loss_notice_reader(self->losses, i)); i++)
        note(self, reader);
}

void loss_report_begin(session_t *self)
{
    publisher_listen(self->publisher, on_record, self);
}

static void on_state(session_t *self, const journal_record_t *record)
{
    cleanup_free char *reader = NULL;
    jspan_t content;
    fault_t fault;

    if (strcmp(record->type, "loss_reported") != 0
        || jspan_check(record->content.bytes, record->content.size, &content,
                       &fault)
               < 0)
        return;
    reader = jspan_text_new(jspan_member(content, "reader"));
    if (reader)
        loss_notice_deliver(self->losses, reader);
}

/* Returns true if the gateway itself has written a loss into a record that the
 * reader has by it: only its own records have no number of the kernel. */
static bool has_loss(const journal_record_t *record)
{
    jspan_t metadata, lost;
    fault_t fault;

    if (record->kernel_seq
        || jspan_check(record->metadata.bytes, record->metadata.size, &metadata,
                       &fault)
               < 0)
        return false;
    lost = jspan_member(jspan_member(metadata, "hearth"), "lost");
    return jspan_is(lost, JSPAN_OBJECT)
           && !jspan_is(jspan_member(lost, "reviving"), JSPAN_TRUE);
}

void loss_report_recall(session_t *self, const journal_record_t *record)
{
    char reader[LOSS_READERS_NAME_SIZE];
    const request_t *request;

    (void) loss_notice_add(self->losses, record);
    if (record->kind == JOURNAL_STATE) {
        on_state(self, record);
        return;
    }
    if ((record->kind != JOURNAL_EVENT && record->kind != JOURNAL_REPLY)
        || !has_loss(record))
        return;
    request = request_queue_find(self->requests, record->request);
    if (!request || !loss_readers_name(request, reader))
        return;
    if (record->kind == JOURNAL_EVENT)
        loss_notice_deliver(self->losses, reader);
    else
        loss_notice_expect(self->losses, reader);
}
