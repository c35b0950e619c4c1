/* See journal_refs.h. */
#include "notebooks/recording/journal_refs.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/journal/reader.h"
#include "notebooks/json/tree.h"

#include <stdlib.h>
#include <string.h>

void journal_refs_clear(journal_refs_t *self)
{
    free(self->cells);
    free(self->programs);
    *self = (journal_refs_t){0};
}

/* Returns the array with room for one more item of that size. */
static void *grow(void *array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = *capacity ? 2 * *capacity : 64;
    return mem_resize(array, *capacity * size);
}

static json_int_t number_in(const journal_record_t *record, const char *name)
{
    json_auto_t *content = json_tree_of(record->content);

    return json_integer_value(json_object_get(content, name));
}

static void add_cell(journal_refs_t *self, const journal_record_t *record,
                     const journal_mark_t *mark)
{
    json_int_t number = number_in(record, "execution_count");

    if (number <= 0)
        return;
    self->cells = grow(self->cells, &self->cell_capacity, self->cell_count,
                       sizeof *self->cells);
    self->cells[self->cell_count++] = (journal_ref_cell_t){
        .number = number, .request = record->request, .mark = *mark};
}

static void add_program(journal_refs_t *self, const journal_record_t *record)
{
    json_int_t number = number_in(record, "process");

    if (number <= 0)
        return;
    self->programs = grow(self->programs, &self->program_capacity,
                          self->program_count, sizeof *self->programs);
    self->programs[self->program_count++] = (uint64_t) number;
}

static void add_record(journal_refs_t *self, const journal_record_t *record,
                       const journal_mark_t *mark)
{
    if (record->kind == JOURNAL_EVENT
        && strcmp(record->type, "execute_input") == 0)
        add_cell(self, record, mark);
    else if (record->kind == JOURNAL_STATE
             && strcmp(record->type, "process") == 0)
        add_program(self, record);
}

/* ---- order ---- */

/* Orders cells by number, and those of one number by age. */
static int compare_cells(const void *one, const void *other)
{
    const journal_ref_cell_t *a = one, *b = other;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return a->mark.seq < b->mark.seq ? -1 : a->mark.seq > b->mark.seq;
}

static int compare_programs(const void *one, const void *other)
{
    const uint64_t *a = one, *b = other;

    return *a < *b ? -1 : *a > *b;
}

/* Leaves the newest cell of each number. */
static void sort_cells(journal_refs_t *self)
{
    size_t kept = 0;

    if (self->cell_count)
        qsort(self->cells, self->cell_count, sizeof *self->cells,
              compare_cells);
    for (size_t i = 0; i < self->cell_count; i++)
        if (i + 1 == self->cell_count
            || self->cells[i + 1].number != self->cells[i].number)
            self->cells[kept++] = self->cells[i];
    self->cell_count = kept;
}

static void sort_programs(journal_refs_t *self)
{
    size_t kept = 0;

    if (self->program_count)
        qsort(self->programs, self->program_count, sizeof *self->programs,
              compare_programs);
    for (size_t i = 0; i < self->program_count; i++)
        if (i == 0 || self->programs[i] != self->programs[i - 1])
            self->programs[kept++] = self->programs[i];
    self->program_count = kept;
}

int journal_refs_read(const char *folder, const uint8_t *key, int64_t until_ms,
                      journal_refs_t *ret_refs, fault_t *fault)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    int r;

    *ret_refs = (journal_refs_t){0};
    r = journal_reader_new(folder, key, 0, &reader, fault);
    if (r == 0)
        r = journal_reader_skip_to_recent(reader, JOURNAL_REFS_BYTES, fault);
    if (r < 0)
        return r;
    while (clock_monotonic_ms() < until_ms
           && (r = journal_reader_next(reader, &record, fault)) > 0) {
        journal_mark_t mark = journal_reader_mark(reader);

        add_record(ret_refs, &record, &mark);
    }
    sort_cells(ret_refs);
    sort_programs(ret_refs);
    return r < 0 ? r : 0;
}
