/* See cell_outcome.h. The journal is read from the cell's mark on, or from the
 * beginning if a compaction has moved that record. */
#include "notebooks/recording/cell_outcome.h"

#include "notebooks/formats/output_list.h"
#include "notebooks/journal/reader.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <errno.h>
#include <string.h>

#define OUTPUTS_MAX (64u << 20) /* bytes of a result */

void cell_outcome_clear(cell_outcome_t *self)
{
    json_decref(self->outputs);
    json_decref(self->reply);
    json_decref(self->metadata);
    json_decref(self->lost);
    *self = (cell_outcome_t){0};
}

/* Takes the loss from a record that the gateway has made. A kernel reports
 * none.
 */
static void take_loss(cell_outcome_t *self, const journal_record_t *record)
{
    json_auto_t *metadata = NULL;
    json_t *lost;

    if (record->kernel_seq)
        return;
    metadata = json_tree_of(record->metadata);
    lost = json_object_get(json_object_get(metadata, "hearth"), "lost");
    if (!json_is_object(lost))
        return;
    json_decref(self->lost);
    self->lost = json_incref(lost);
}

static void add_record(cell_outcome_t *self, output_list_t *outputs,
                       const journal_record_t *record)
{
    json_auto_t *content = json_tree_of(record->content);

    if (record->kind == JOURNAL_REPLY) {
        self->reply = json_incref(content);
        self->metadata = json_tree_of(record->metadata);
        self->ended_us = record->wall_us;
        take_loss(self, record);
    } else if (record->kind == JOURNAL_GAP) {
        output_list_add_gap(
            outputs, json_integer_value(json_object_get(content, "records")),
            json_integer_value(json_object_get(content, "bytes")));
    } else if (record->kind == JOURNAL_EVENT
               && strcmp(record->type, "execute_input") == 0) {
        self->began_us = record->wall_us;
        take_loss(self, record);
        self->count =
            json_integer_value(json_object_get(content, "execution_count"));
    } else if (record->kind == JOURNAL_EVENT) {
        output_list_add(outputs, record->seq, record->type, content,
                        record->content.size);
    }
}

/* Returns -ENOENT if no record of the request was found. */
static int read_from(const cell_outcome_place_t *place,
                     const journal_mark_t *mark, cell_outcome_t *ret_outcome)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    CLEANUP(output_list_clear)
    output_list_t outputs = {.bytes_max = OUTPUTS_MAX};
    journal_record_t record;
    bool is_found = false;
    fault_t fault;
    int r = journal_reader_new(place->folder, place->key, 0, &reader, &fault);

    if (r == 0 && mark)
        r = journal_reader_seek(reader, mark, &fault);
    while (r == 0 && !ret_outcome->reply
           && journal_reader_next(reader, &record, &fault) > 0) {
        if (record.request != place->request)
            continue;
        is_found = true;
        add_record(ret_outcome, &outputs, &record);
    }
    ret_outcome->outputs = output_list_finish(&outputs);
    return is_found ? 0 : -ENOENT;
}

int cell_outcome_read(const cell_outcome_place_t *place, bool must_have_reply,
                      cell_outcome_t *ret_outcome)
{
    int r = -ENOENT;

    *ret_outcome = (cell_outcome_t){0};
    if (place->mark.segment)
        r = read_from(place, &place->mark, ret_outcome);
    if (r == 0 && (ret_outcome->reply || !must_have_reply))
        return 0;
    cell_outcome_clear(ret_outcome);
    r = read_from(place, NULL, ret_outcome);
    if (r == 0 && !ret_outcome->reply && must_have_reply)
        r = -ENOENT;
    if (r < 0)
        cell_outcome_clear(ret_outcome);
    return r;
}

/* Returns true if the record says that a kernel begins the cell with that
 * number. */
static bool begins(const journal_record_t *record, long long count)
{
    if (record->kind != JOURNAL_EVENT
        || strcmp(record->type, "execute_input") != 0)
        return false;
    json_auto_t *content = json_tree_of(record->content);
    return json_integer_value(json_object_get(content, "execution_count"))
           == count;
}

int cell_outcome_find(cell_outcome_place_t *place, long long count,
                      fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    int r = journal_reader_new(place->folder, place->key, 0, &reader, fault);

    place->request = 0;
    if (r < 0)
        return r;
    while ((r = journal_reader_next(reader, &record, fault)) > 0) {
        if (!begins(&record, count))
            continue;
        place->request = record.request;
        place->mark = journal_reader_mark(reader);
    }
    if (place->request)
        return 0;
    return r < 0 ? r : -ENOENT;
}

void cell_outcome_add_pages(json_t *outputs, const json_t *reply)
{
    const json_t *payload = json_object_get(reply, "payload");
    json_t *item;
    size_t i;

    json_array_foreach(payload, i, item)
    {
        json_t *data = json_object_get(item, "data");
        if (strcmp(member_text(item, "source"), "page") == 0
            && json_is_object(data))
            json_array_append_new(
                outputs, json_pack("{s:s,s:O,s:{}}", "output_type",
                                   "display_data", "data", data, "metadata"));
    }
}
