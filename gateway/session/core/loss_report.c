/* See loss_report.h. The loss goes out with an event that is in the journal,
 * and the reader is noted after it. If the gateway is killed in between, the
 * event says who has it. The note says it when a compaction has removed the
 * event. */
#include "gateway/session/core/loss_report.h"

#include "base/clock.h"
#include "base/log.h"
#include "protocol/jspan_write.h"

#include <string.h>

/* Reads the journal from its beginning. */
static int read_losses(const session_t *self, kernel_losses_t *losses,
                       fault_t *fault)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    int r =
        journal_reader_new(folder, self->spec->journal.key, 0, &reader, fault);

    if (r < 0)
        return r;
    while ((r = journal_reader_next(reader, &record, fault)) > 0)
        kernel_losses_add(losses, &record);
    return r;
}

/* Removes the variables that other readers' cells have made again. */
static void drop_made_again(kernel_losses_t *losses)
{
    size_t i = 0;
    const char *name;

    while ((name = json_string_value(json_array_get(losses->loss.names, i))))
        if (json_object_get(losses->names, name))
            json_array_remove(losses->loss.names, i);
        else
            i++;
}

/* Finds out what was lost and is not there by now. */
static void look(session_t *self)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};
    fault_t fault;

    if (read_losses(self, &losses, &fault) < 0) {
        log_warning("session=%s the loss is not known: %s", self->spec->id,
                    fault.text);
        return;
    }
    drop_made_again(&losses);
    loss_notice_keep(self->losses, losses.loss.fresh_seq ? &losses.loss : NULL);
}

static void write_metadata(bytes_t loss, buffer_t *metadata)
{
    jspan_write_begin(metadata);
    jspan_write_object(metadata, "hearth");
    jspan_write_raw(metadata, "lost", loss);
    jspan_write_end(metadata);
    jspan_write_end(metadata);
}

bool loss_report_write(session_t *self, const request_t *request,
                       buffer_t *metadata)
{
    char reader[LOSS_NOTICE_READER_SIZE];

    if (!loss_notice_reader(request, reader)
        || !loss_notice_is_due(self->losses, reader))
        return false;
    look(self);
    if (!loss_notice_text(self->losses).size)
        return false;
    write_metadata(loss_notice_text(self->losses), metadata);
    return true;
}

static void note(session_t *self, const char *reader)
{
    cleanup_free char *content = mem_format("{\"reader\":\"%s\"}", reader);
    fault_t fault;

    if (publisher_note(self->publisher, "loss_reported", 0, content, &fault)
        < 0)
        log_warning("session=%s loss_reported: %s", self->spec->id, fault.text);
}

void loss_report_note(session_t *self, const request_t *request)
{
    char reader[LOSS_NOTICE_READER_SIZE];

    if (!loss_notice_reader(request, reader))
        return;
    loss_notice_tell(self->losses, reader);
    note(self, reader);
}

/* Returns true if the kernel had variables. If it was never ready, the last
 * loss is still that of the kernel before it. */
static bool was_ready(const session_t *self)
{
    return self->info.size > 0;
}

/* --- A loss that is about to happen --- */

static bool is_reader(const request_t *request)
{
    char ignored[LOSS_NOTICE_READER_SIZE];

    return loss_notice_reader(request, ignored);
}

/* Returns true if a client that wants to learn of losses waits. */
static bool has_reader(const session_t *self, uint64_t last)
{
    const request_t *running = request_queue_running(self->requests);

    if (running && !running->is_answered && is_reader(running))
        return true;
    for (const request_t *at = request_queue_first(self->requests);
         at && at->number <= last; at = at->next)
        if (is_reader(at))
            return true;
    return false;
}

void loss_report_foresee(session_t *self, uint64_t last, const char *ename)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};
    fault_t fault;

    if (!was_ready(self) || !has_reader(self, last))
        return;
    if (read_losses(self, &losses, &fault) < 0) {
        log_warning("session=%s the loss is not known: %s", self->spec->id,
                    fault.text);
        return;
    }
    kernel_losses_end(&losses, clock_wall_us(), self->cause.detail,
                      strcmp(ename, "KernelDied") == 0
                          && request_queue_runs_cell(self->requests));
    loss_notice_foresee(self->losses, &losses.loss);
}

void loss_report_write_foreseen(session_t *self, const request_t *request,
                                buffer_t *metadata)
{
    bytes_t loss = loss_notice_foreseen(self->losses);
    char reader[LOSS_NOTICE_READER_SIZE];

    if (!loss.size || !loss_notice_reader(request, reader))
        return;
    write_metadata(loss, metadata);
    loss_notice_expect(self->losses, reader);
}

void loss_report_forget(session_t *self)
{
    loss_notice_foresee(self->losses, NULL);
}

void loss_report_end(session_t *self)
{
    const char *reader;

    if (!was_ready(self))
        return;
    loss_notice_begin(self->losses);
    for (size_t i = 0; (reader = loss_notice_told(self->losses, i)); i++)
        note(self, reader);
}

/* --- An earlier gateway's records --- */

static void on_state(session_t *self, const journal_record_t *record)
{
    cleanup_free char *reader = NULL;
    jspan_t content;
    fault_t fault;

    if (strcmp(record->type, "gone") == 0
        || strcmp(record->type, "restart") == 0) {
        if (was_ready(self))
            loss_notice_begin(self->losses);
        return;
    }
    if (strcmp(record->type, "loss_reported") != 0
        || jspan_check(record->content.bytes, record->content.size, &content,
                       &fault)
               < 0)
        return;
    reader = jspan_text_new(jspan_member(content, "reader"));
    if (reader)
        loss_notice_tell(self->losses, reader);
}

/* Returns true if the gateway itself has written a loss into a record. */
static bool has_loss(const journal_record_t *record)
{
    return !record->kernel_seq && record->metadata.size
           && memmem(record->metadata.bytes, record->metadata.size, "\"lost\"",
                     strlen("\"lost\""));
}

void loss_report_recall(session_t *self, const journal_record_t *record)
{
    char reader[LOSS_NOTICE_READER_SIZE];
    const request_t *request;

    if (record->kind == JOURNAL_STATE) {
        on_state(self, record);
        return;
    }
    if ((record->kind != JOURNAL_EVENT && record->kind != JOURNAL_REPLY)
        || !has_loss(record))
        return;
    request = request_queue_find(self->requests, record->request);
    if (!request || !loss_notice_reader(request, reader))
        return;
    if (record->kind == JOURNAL_EVENT)
        loss_notice_tell(self->losses, reader);
    else
        loss_notice_expect(self->losses, reader);
}
