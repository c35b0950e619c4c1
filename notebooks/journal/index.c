/* See index.h. A mark may have been overtaken by a compaction: then the
 * journal is read from the segment's front, or from its own. */
#include "notebooks/journal/index.h"

static void note_request(journal_index_t *self, uint64_t number,
                         const journal_mark_t *mark)
{
    for (size_t i = 0; i < JOURNAL_INDEX_REQUESTS; i++) {
        if (self->requests[i].number != number)
            continue;
        self->requests[i].mark = *mark;
        return;
    }
    size_t at = self->request_at++ % JOURNAL_INDEX_REQUESTS;
    self->requests[at].number = number;
    self->requests[at].mark = *mark;
}

void journal_index_note(journal_index_t *self, const journal_reader_t *reader,
                        const journal_record_t *record)
{
    journal_mark_t mark = journal_reader_mark(reader);

    if (!self->tail.segment || mark.seq > self->tail.seq)
        self->tail = mark;
    if (record->kind == JOURNAL_REQUEST && record->request)
        note_request(self, record->request, &mark);
}

int journal_index_open(const journal_index_t *self, const char *folder,
                       const uint8_t *key, uint64_t since,
                       journal_reader_t **ret_reader, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record = {0};
    int r = journal_reader_new(folder, key, since, &reader, fault);

    if (r < 0)
        return r;
    if (self->tail.segment && self->tail.seq <= since) {
        /* The mark may be out of date: it is used only if its record can be
         * read. */
        if (journal_reader_seek(reader, &self->tail, fault) < 0
            || journal_reader_next(reader, &record, fault) < 0
            || record.seq > since + 1) {
            journal_reader_destroy(&reader);
            r = journal_reader_new(folder, key, since, &reader, fault);
            if (r < 0)
                return r;
        } else if (record.seq > since) {
            r = journal_reader_seek(reader, &self->tail, fault);
            if (r < 0)
                return r;
        }
    }
    *ret_reader = take_ptr(reader);
    return 0;
}

static const journal_mark_t *mark_of(const journal_index_t *self,
                                     uint64_t number)
{
    for (size_t i = 0; i < JOURNAL_INDEX_REQUESTS; i++)
        if (self->requests[i].number == number)
            return &self->requests[i].mark;
    return NULL;
}

static bool is_request(const journal_record_t *record, uint64_t number)
{
    return record->kind == JOURNAL_REQUEST && record->request == number;
}

bool journal_index_find_request(journal_index_t *self, const char *folder,
                                const uint8_t *key, uint64_t number,
                                journal_reader_t **ret_reader,
                                journal_record_t *ret_record)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    const journal_mark_t *mark = mark_of(self, number);
    fault_t fault;
    int r;

    if (mark && !mark->segment)
        return false;
    if (journal_reader_new(folder, key, 0, &reader, &fault) < 0)
        return false;
    if (mark && journal_reader_seek(reader, mark, &fault) == 0
        && journal_reader_next(reader, ret_record, &fault) > 0
        && is_request(ret_record, number)) {
        *ret_reader = take_ptr(reader);
        return true;
    }
    journal_reader_destroy(&reader);
    if (journal_reader_new(folder, key, 0, &reader, &fault) < 0)
        return false;
    while ((r = journal_reader_next(reader, ret_record, &fault)) > 0) {
        if (!is_request(ret_record, number))
            continue;
        journal_index_note(self, reader, ret_record);
        *ret_reader = take_ptr(reader);
        return true;
    }
    /* A request comes before all of its records: if a compaction removed it, it
     * is not searched again. */
    if (r == 0)
        note_request(self, number, &(journal_mark_t){.segment = 0});
    return false;
}
