/* The notebook as a value: making, finding, freeing. */
#include "notebooks/formats/notebook.h"

#include <string.h>
#include <sys/mman.h>

#define AROUND (64u << 10) /* Linux's default; a multiple of the page size */

void notebook_cell_clear(notebook_cell_t *cell)
{
    json_decref(cell->attachments);
    json_decref(cell->metadata);
    json_decref(cell->outputs);
    json_decref(cell->other);
    free(cell->source);
    free(cell->id);
    *cell = (notebook_cell_t){0};
}

/* Begins before the text. When a page of a file is read, the system also maps
 * the pages around it that it has in memory (fault_around_bytes in debugfs). So
 * reading this cell maps pages again that an earlier cell gave back. */
const char *notebook_cell_pages(const notebook_cell_t *cell)
{
    size_t before = (size_t) ((uintptr_t) cell->text % AROUND);

    if (!cell->map)
        return NULL;
    return before < (size_t) (cell->text - cell->map) ? cell->text - before
                                                      : cell->map;
}

void notebook_cell_unload(notebook_cell_t *cell)
{
    const char *pages = notebook_cell_pages(cell);

    if (!pages)
        return;
    json_decref(cell->outputs);
    cell->outputs = NULL;
    /* A page that other cells share is read from the file again when they need
     * it. */
    (void) madvise((void *) (uintptr_t) pages,
                   (size_t) (cell->text + cell->text_size - pages),
                   MADV_DONTNEED);
}

void notebook_clear(notebook_t *self)
{
    if (self->map)
        munmap(self->map, self->map_size);
    for (size_t i = 0; i < self->count; i++)
        notebook_cell_clear(&self->cells[i]);
    free(self->cells);
    json_decref(self->metadata);
    *self = (notebook_t){0};
}

void notebook_add(notebook_t *self, notebook_cell_t *cell)
{
    if (self->count == self->capacity) {
        self->capacity = self->capacity ? 2 * self->capacity : 64;
        self->cells =
            mem_resize(self->cells, self->capacity * sizeof(*self->cells));
    }
    self->cells[self->count++] = *cell;
    *cell = (notebook_cell_t){0};
}

notebook_cell_t *notebook_find(const notebook_t *self, const char *id)
{
    for (size_t i = 0; i < self->count; i++)
        if (strcmp(self->cells[i].id, id) == 0)
            return &self->cells[i];
    return NULL;
}

json_t *notebook_cell_note(const notebook_cell_t *cell, const char *key)
{
    return json_object_get(json_object_get(cell->metadata, "hearth"), key);
}

json_t *notebook_cell_json(const notebook_cell_t *cell)
{
    static const char *const kinds[] = {"code", "markdown", "raw"};
    if (cell->kind == NOTEBOOK_OTHER)
        return json_copy(cell->other);
    json_t *source = json_stringn(cell->source, cell->source_size);
    json_t *json =
        json_pack("{s:s, s:s, s:o, s:O}", "cell_type", kinds[cell->kind], "id",
                  cell->id, "source", source ? source : json_string(""),
                  "metadata", cell->metadata);

    if (cell->attachments)
        json_object_set(json, "attachments", cell->attachments);
    if (cell->kind != NOTEBOOK_CODE)
        return json;
    json_object_set(json, "outputs", cell->outputs);
    json_object_set_new(json, "execution_count",
                        cell->count ? json_integer(cell->count) : json_null());
    return json;
}
