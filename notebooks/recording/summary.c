/* See summary.h. */
#include "notebooks/recording/summary.h"

#include "base/buffer.h"
#include "notebooks/journal/reader.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static jspan_t member(const journal_record_t *record, const char *key)
{
    jspan_t value = {0};
    fault_t fault;

    if (jspan_check(record->content.bytes, record->content.size, &value, &fault)
        < 0)
        return (jspan_t){0};
    return jspan_member(value, key);
}

static void on_state(summary_t *self, const journal_record_t *record)
{
    self->notes += strcmp(record->type, "note") == 0;
    if (strcmp(record->type, "gone") != 0)
        return;
    cleanup_free char *reason = jspan_text_new(member(record, "reason"));
    snprintf(self->reason, sizeof self->reason, "%s",
             reason && *reason ? reason : "gone");
}

static void take(summary_t *self, const journal_record_t *record)
{
    if (!self->began_us)
        self->began_us = record->wall_us;
    self->last_us = record->wall_us;
    self->bytes += record->content.size;
    for (size_t i = 0; i < record->buffer_count; i++)
        self->bytes += record->buffers[i].size;
    if (record->kind == JOURNAL_REQUEST)
        self->cells += strcmp(record->type, "execute_request") == 0;
    else if (record->kind == JOURNAL_REPLY)
        self->errors += strcmp(record->type, "execute_reply") == 0
                        && jspan_text_equals(member(record, "status"), "error");
    else if (record->kind == JOURNAL_STATE)
        on_state(self, record);
}

int summary_read(const char *journal_folder, const uint8_t *key,
                 summary_t *ret_summary, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    int result = journal_reader_new(journal_folder, key, 0, &reader, fault);

    *ret_summary = (summary_t){0};
    while (result == 0
           && (result = journal_reader_next(reader, &record, fault)) == 1) {
        take(ret_summary, &record);
        result = 0;
    }
    ret_summary->is_damaged = result == -EBADMSG;
    return result == -EBADMSG ? 0 : result;
}
