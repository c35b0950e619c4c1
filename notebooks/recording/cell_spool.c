/* See cell_spool.h. A cell is kept as the JSON of a notebook that holds it
 * alone. */
#include "notebooks/recording/cell_spool.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MEMORY_MAX (8u << 20)

struct cell_spool {
    buffer_t memory; /* owned; the first places */
    FILE *file;      /* owned; the others, or NULL */
    uint64_t filed;  /* bytes in the file */
};

cell_spool_t *cell_spool_new(void)
{
    return mem_new(sizeof(cell_spool_t));
}

void cell_spool_destroy(cell_spool_t **self_p)
{
    cell_spool_t *self = *self_p;

    if (!self)
        return;
    if (self->file)
        fclose(self->file);
    buffer_reset(&self->memory);
    free(self);
    *self_p = NULL;
}

static char *pack(notebook_cell_t *cell)
{
    json_auto_t *notebook = json_pack("{s:[o], s:i}", "cells",
                                      notebook_cell_json(cell), "nbformat", 4);

    notebook_cell_clear(cell);
    return json_dumps(notebook, JSON_COMPACT);
}

int cell_spool_put(cell_spool_t *self, notebook_cell_t *cell,
                   cell_spool_place_t *ret_place, fault_t *fault)
{
    cleanup_free char *text = pack(cell);
    size_t size = strlen(text);

    *ret_place = (cell_spool_place_t){.at = self->memory.size, .size = size};
    if (!self->file && self->memory.size + size <= MEMORY_MAX) {
        buffer_append(&self->memory, text, size);
        return 0;
    }
    if (!self->file)
        self->file = tmpfile();
    if (!self->file)
        return fault_set(fault, errno, "a temporary file: %s", strerror(errno));
    ret_place->at = self->memory.size + self->filed;
    self->filed += size;
    if (fwrite(text, 1, size, self->file) != size)
        return fault_set(fault, errno, "a temporary file: %s", strerror(errno));
    return 0;
}

/* Returns the text of a place: lent from memory, or read into `loaded`. */
static const char *find(cell_spool_t *self, const cell_spool_place_t *place,
                        buffer_t *loaded)
{
    if (place->at < self->memory.size)
        return (char *) self->memory.data + place->at;
    uint8_t *to = buffer_reserve(loaded, place->size);
    off_t at = (off_t) (place->at - self->memory.size);
    if (fflush(self->file) != 0
        || pread(fileno(self->file), to, place->size, at)
               != (ssize_t) place->size)
        return NULL;
    return (char *) to;
}

int cell_spool_take(cell_spool_t *self, const cell_spool_place_t *place,
                    notebook_cell_t *ret_cell, fault_t *fault)
{
    cleanup_buffer buffer_t loaded = BUFFER_EMPTY;
    cleanup_notebook notebook_t notebook = {0};
    const char *text = find(self, place, &loaded);

    if (!text)
        return fault_set(fault, EIO, "a temporary file cannot be read back");
    int result =
        notebook_parse(text, place->size, "a waiting cell", &notebook, fault);
    if (result < 0)
        return result;
    *ret_cell = notebook.cells[0];
    notebook.cells[0] = (notebook_cell_t){0};
    return 0;
}
