/* See process_records.h. */
#include "gateway/session/processes/process_records.h"

#include "base/log.h"
#include "base/utf8.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/kernel/publisher.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <inttypes.h>
#include <string.h>

static int note(session_t *self, const char *type, const process_t *process,
                fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    process_write(process, NULL, &out);
    return publisher_note(self->publisher, type, 0, (const char *) out.data,
                          fault);
}

static audit_process_t audited(const process_t *process)
{
    return (audit_process_t){process->who, process->number, process->arguments,
                             process->is_terminal};
}

int process_records_start(session_t *self, const process_t *process,
                          fault_t *fault)
{
    audit_process_t it = audited(process);
    int r = note(self, "process", process, fault);

    if (r == 0)
        audit_events_process_start(self->audit, &it);
    return r;
}

static void note_output(session_t *self, process_t *process, uint64_t offset,
                        unsigned stream, bytes_t bytes)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;

    jspan_write_begin(&out);
    jspan_write_count(&out, "process", process->number);
    jspan_write_text(&out, "stream",
                     stream == KEEPER_STDERR ? "stderr" : "stdout");
    jspan_write_count(&out, "offset", offset);
    jspan_write_count(&out, "size", bytes.size);
    jspan_write_bytes(&out, "text", bytes);
    jspan_write_end(&out);
    process->recorded += bytes.size;
    if (publisher_note(self->publisher, "process_output", 0,
                       (const char *) out.data, &fault)
        < 0)
        log_warning("session=%s output of process %" PRIu64 ": %s",
                    self->spec->id, process->number, fault.text);
}

static void note_torn(session_t *self, process_t *process)
{
    process_torn_t torn = process->torn;

    process->torn.size = 0;
    if (torn.size)
        note_output(self, process, torn.offset, torn.stream,
                    (bytes_t){(const char *) torn.bytes, torn.size});
}

void process_records_output(session_t *self, process_t *process,
                            uint64_t offset, unsigned stream, bytes_t bytes)
{
    process_torn_t *torn = &process->torn;
    cleanup_buffer buffer_t joined = BUFFER_EMPTY;
    uint64_t left;
    size_t whole;

    if (torn->size
        && (torn->stream != stream || torn->offset + torn->size != offset))
        note_torn(self, process);
    if (torn->size) {
        buffer_append(&joined, torn->bytes, torn->size);
        buffer_append(&joined, bytes.bytes, bytes.size);
        bytes = buffer_bytes(&joined);
        offset = torn->offset;
        torn->size = 0;
    }
    left = PROCESS_RECORDED - process->recorded;
    if (bytes.size > left)
        bytes.size = (size_t) left;
    whole = utf8_whole(bytes);
    *torn = (process_torn_t){
        .size = bytes.size - whole, .offset = offset + whole, .stream = stream};
    memcpy(torn->bytes, (const char *) bytes.bytes + whole, torn->size);
    if (whole)
        note_output(self, process, offset, stream,
                    (bytes_t){bytes.bytes, whole});
}

int process_records_input(session_t *self, const process_t *process,
                          const process_write_t *write, bool ends,
                          fault_t *fault)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    jspan_write_begin(&out);
    jspan_write_count(&out, "process", process->number);
    if (write)
        process_write_members(write, &out);
    if (ends)
        jspan_write_bool(&out, "end", true);
    jspan_write_end(&out);
    return publisher_note(self->publisher, "process_input", 0,
                          (const char *) out.data, fault);
}

void process_records_end(session_t *self, process_t *process)
{
    cleanup_buffer buffer_t detail = BUFFER_EMPTY;
    audit_process_t it = audited(process);
    fault_t fault;

    note_torn(self, process);
    if (note(self, "process_ended", process, &fault) < 0)
        log_error("session=%s process_ended %" PRIu64 ": %s", self->spec->id,
                  process->number, fault.text);
    process_write_end(process, &detail);
    audit_events_process_end(
        self->audit, &it,
        &(audit_process_end_t){(const char *) detail.data,
                               process->bytes[0] + process->bytes[1],
                               process->cpu_ms, process->fate == PROCESS_LOST});
}

/* Reads what came of its output, or was written to its input. Returns false if
 * the record is something else. */
static bool recall_stream(process_t *process, const char *type, jspan_t object)
{
    int64_t size = 0;

    if (strcmp(type, "process_input") == 0) {
        if (process) {
            process_writes_recall(&process->input.writes, object);
            if (jspan_is(jspan_member(object, "end"), JSPAN_TRUE))
                process->input.is_over = !process->is_terminal;
        }
        return true;
    }
    if (strcmp(type, "process_output") != 0)
        return false;
    if (process && jspan_to_integer(jspan_member(object, "size"), &size)
        && size > 0)
        process->recorded += (uint64_t) size;
    return true;
}

void process_records_recall(session_t *self, const journal_record_t *record)
{
    bool has_ended = strcmp(record->type, "process_ended") == 0;
    process_t *process;
    jspan_t object;
    uint64_t number;
    fault_t fault;

    if (jspan_check(record->content.bytes, record->content.size, &object,
                    &fault)
            < 0
        || !(number = process_read_number(object)))
        return;
    process = processes_find(self->processes, number);
    if (recall_stream(process, record->type, object))
        return;
    if (!process)
        process = processes_add(self->processes, number);
    process->session = self;
    if (!process_read(process, object))
        processes_remove(self->processes, process);
    else if (has_ended)
        processes_end(self->processes, process);
}
