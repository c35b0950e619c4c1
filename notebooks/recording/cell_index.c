/* See cell_index.h. Most records are output, and their JSON is not looked at
 * here: it is read once, in the second reading. */
#include "notebooks/recording/cell_index.h"

#include "base/buffer.h"
#include "notebooks/recording/cell_builder.h"

#include <string.h>

/* The most displays that are followed; others keep their first form. */
#define DISPLAYS_MAX 65536

void cell_index_clear(cell_index_t *self)
{
    free(self->displays);
    json_decref(self->display_ids);
    free(self->order);
    free(self->cells);
    *self = (cell_index_t){0};
}

static cell_index_cell_t *add_cell(cell_index_t *self,
                                   const journal_record_t *record)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 64;
        self->cells =
            mem_resize(self->cells, self->capacity * sizeof(*self->cells));
    }
    cell_index_cell_t *cell = &self->cells[self->count++];
    *cell = (cell_index_cell_t){.seq = record->seq, .last_seq = record->seq};
    return cell;
}

/* Notes a request. A silent request is not a cell: no client shows it. Numbers
 * ascend; a record with a lower number was not written by a gateway. */
static void on_request(cell_index_t *self, const journal_record_t *record)
{
    if (strcmp(record->type, "execute_request") != 0
        || record->request <= self->request_last)
        return;
    json_auto_t *content = record_object(record->content);
    if (!json_is_true(json_object_get(content, "silent")))
        add_cell(self, record)->request = record->request;
    self->request_last = record->request;
}

static void extend(cell_index_t *self, const journal_record_t *record)
{
    long index = cell_index_of(self, record->request);

    if (index >= 0)
        self->cells[index].last_seq = record->seq;
}

static void note_begin(cell_index_t *self, const journal_record_t *record)
{
    long index = cell_index_of(self, record->request);

    if (index >= 0 && !self->cells[index].begun)
        self->cells[index].begun = record->seq;
}

static bool is_display(const char *type)
{
    return strcmp(type, "display_data") == 0
           || strcmp(type, "execute_result") == 0
           || strcmp(type, "update_display_data") == 0;
}

/* Returns the display of the id, a new one if need be; NULL if there are too
 * many. */
static cell_index_display_t *display_of(cell_index_t *self, const char *id)
{
    json_t *known = json_object_get(self->display_ids, id);
    size_t index =
        known ? (size_t) json_integer_value(known) : self->display_count;

    if (index == DISPLAYS_MAX)
        return NULL;
    if (!known) {
        if (!self->display_ids)
            self->display_ids = json_object();
        if ((index & (index + 1)) == 0 || index == 0)
            self->displays = mem_resize(
                self->displays, 2 * (index + 1) * sizeof(*self->displays));
        json_object_set_new(self->display_ids, id,
                            json_integer((json_int_t) index));
        self->displays[index] = (cell_index_display_t){0};
        self->display_count++;
    }
    return &self->displays[index];
}

static void keep_display(cell_index_t *self, const journal_record_t *record,
                         const char *id, const journal_reader_t *reader)
{
    cell_index_display_t *display = display_of(self, id);

    if (!display)
        return;
    display->seq = record->seq;
    display->mark = journal_reader_mark(reader);
    if (strcmp(record->type, "update_display_data") != 0)
        display->places[display->place_count++ % DISPLAY_PLACES_MAX] =
            record->seq;
}

static void on_event(cell_index_t *self, const journal_record_t *record,
                     const journal_reader_t *reader)
{
    bytes_t content = record->content;

    extend(self, record);
    if (strcmp(record->type, "execute_input") == 0)
        note_begin(self, record);
    if (!is_display(record->type) || !content.size
        || !memmem(content.bytes, content.size, "display_id", 10))
        return;
    json_auto_t *display = record_object(content);
    const char *id = display_id(display);
    if (*id)
        keep_display(self, record, id, reader);
}

/* Adds a gap: one in a cell belongs to the cell, one of requests is a cell of
 * its own. */
static void on_gap(cell_index_t *self, const journal_record_t *record)
{
    if (cell_index_of(self, record->request) >= 0)
        extend(self, record);
    else
        add_cell(self, record);
}

static void on_cut(cell_index_t *self, const json_t *content)
{
    json_int_t from = json_integer_value(json_object_get(content, "from"));
    json_int_t to = json_integer_value(json_object_get(content, "to"));

    if (self->cut_to || from <= 0 || to < from)
        return;
    self->cut_from = (uint64_t) from;
    self->cut_to = (uint64_t) to;
}

static void on_state(cell_index_t *self, const journal_record_t *record)
{
    bool is_cut = strcmp(record->type, "cut") == 0;

    if (!is_cut && strcmp(record->type, "note") != 0)
        return;
    json_auto_t *content = record_object(record->content);
    if (is_cut) {
        on_cut(self, content);
        return;
    }
    json_int_t before = json_integer_value(json_object_get(content, "before"));
    cell_index_cell_t *cell = add_cell(self, record);
    cell->before = before > 0 ? (uint64_t) before : 0;
    cell->is_call = json_object_get(content, "call") != NULL;
}

static void take(cell_index_t *self, const journal_record_t *record,
                 const journal_reader_t *reader)
{
    switch (record->kind) {
    case JOURNAL_REQUEST:
        on_request(self, record);
        break;
    case JOURNAL_EVENT:
        on_event(self, record, reader);
        break;
    case JOURNAL_REPLY:
        extend(self, record);
        note_begin(self, record); /* if it never began, it is over */
        break;
    case JOURNAL_STATE:
        on_state(self, record);
        break;
    case JOURNAL_GAP:
        on_gap(self, record);
        break;
    }
    self->seq_last = record->seq;
}

/* Returns the request of the first cell that began after the note of a call,
 * though it was asked for before. It had what came. Returns 0 if there is none.
 */
static uint64_t first_begun_after(const cell_index_t *self, size_t note)
{
    const cell_index_cell_t *cells = self->cells;
    uint64_t first = 0;

    for (size_t i = note; i > 0; i--) {
        const cell_index_cell_t *cell = &cells[i - 1];

        if (!cell->request)
            continue;
        if (cell->begun && cell->begun < cells[note].seq)
            break;
        first = cell->request;
    }
    return first;
}

/* Sorts the cells in the order of the journal, with each note before the cell
 * that it names. */
static void make_order(cell_index_t *self)
{
    size_t count = 0;

    self->order = mem_new((self->count + 1) * sizeof(*self->order));
    for (size_t i = 0; i < self->count; i++) {
        if (self->cells[i].is_call)
            self->cells[i].before = first_begun_after(self, i);
        long to = cell_index_of(self, self->cells[i].before);
        size_t at = count++;
        for (; to >= 0 && at > 0 && self->order[at - 1] >= (size_t) to
               && self->cells[self->order[at - 1]].before
                      != self->cells[i].before;
             at--)
            self->order[at] = self->order[at - 1];
        self->order[at] = i;
    }
}

int cell_index_make(cell_index_t *self, journal_reader_t *reader,
                    fault_t *fault)
{
    journal_record_t record;
    int result;

    while ((result = journal_reader_next(reader, &record, fault)) > 0)
        take(self, &record, reader);
    make_order(self);
    return result;
}

long cell_index_at(const cell_index_t *self, uint64_t seq)
{
    size_t low = 0;
    size_t high = self->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->cells[middle].seq < seq)
            low = middle + 1;
        else
            high = middle;
    }
    return low < self->count && self->cells[low].seq == seq ? (long) low : -1;
}

/* Cells without a request stand between those that have one. */
long cell_index_of(const cell_index_t *self, uint64_t request)
{
    size_t low = 0;
    size_t high = self->count;

    while (request && low < high) {
        size_t middle = low + (high - low) / 2;
        size_t probe = middle;
        while (probe > low && !self->cells[probe].request)
            probe--;
        uint64_t found = self->cells[probe].request;
        if (found == request)
            return (long) probe;
        if (!found || found < request)
            low = middle + 1;
        else
            high = probe;
    }
    return -1;
}

const cell_index_display_t *cell_index_display(const cell_index_t *self,
                                               const char *id)
{
    json_t *known = json_object_get(self->display_ids, id);

    return known ? &self->displays[json_integer_value(known)] : NULL;
}

bool cell_index_shows_last(const cell_index_display_t *display, uint64_t seq)
{
    size_t oldest = display->place_count % DISPLAY_PLACES_MAX;

    return display->place_count < DISPLAY_PLACES_MAX
           || display->places[oldest] <= seq;
}
