/* A notebook in memory: read from a file or made of a journal; what replay
 * and comparison look at. Texts are in one piece here (nbformat's lists of
 * lines are joined), whatever the version of the file was. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_NOTEBOOK_H
#define HEARTH_NOTEBOOKS_FORMATS_NOTEBOOK_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* Bigger files are refused: they would be held in memory several times. */
#define NOTEBOOK_FILE_MAX (256u << 20)

typedef enum {
    NOTEBOOK_CODE,
    NOTEBOOK_MARKDOWN,
    NOTEBOOK_RAW,
    NOTEBOOK_OTHER, /* of a minor version newer than 4.5; kept as it is */
} notebook_kind_t;

typedef struct {
    notebook_kind_t kind;
    json_t *other;      /* owned; the whole cell of NOTEBOOK_OTHER, or NULL */
    char *id;           /* owned; unique in its notebook */
    char *source;       /* owned; ends with a NUL */
    size_t source_size; /* bytes of it */
    json_t *outputs;    /* owned; array of nbformat 4 outputs; NULL while they
                           are not loaded (notebook_open) */
    const char *text; /* borrowed from the notebook: the cell's JSON, or NULL */
    size_t text_size; /* bytes of it */
    const char *map;  /* borrowed from the notebook: where the mapped file
                         begins that the text is in, or NULL */
    json_t *metadata; /* owned; object. "hearth" in it is ours:
                         docs/reference/notebooks.md */
    json_t *attachments; /* owned, or NULL */
    int64_t count;       /* execution_count; 0: none */
} notebook_cell_t;

typedef struct {
    notebook_cell_t *cells; /* owned */
    size_t count;           /* of them */
    size_t capacity;        /* room */
    json_t *metadata;       /* owned; an object, or NULL */
    int minor;              /* of nbformat 4, where it is past 5; or 0 */
    char *map;              /* owned; the mapped file, or NULL */
    size_t map_size;        /* bytes of it */
} notebook_t;

void notebook_cell_clear(notebook_cell_t *cell);
#define cleanup_notebook_cell CLEANUP(notebook_cell_clear)

void notebook_clear(notebook_t *self);
#define cleanup_notebook CLEANUP(notebook_clear)

/* Moves the cell to the end of the notebook; the caller's is empty then. */
void notebook_add(notebook_t *self, notebook_cell_t *cell);
/* Returns the cell of that id, borrowed, NULL if no cell has it. */
notebook_cell_t *notebook_find(const notebook_t *self, const char *id);
/* The member of a recorded cell's metadata that is true if the request was
 * answered with an error before a kernel had begun it. */
#define NOTEBOOK_REFUSED "refused"
/* The member that is true for the first cell of a kernel that replaced another
 * one. */
#define NOTEBOOK_FRESH "fresh_kernel"
/* Returns a member of the cell's metadata "hearth", lent; NULL if there is
 * none. */
json_t *notebook_cell_note(const notebook_cell_t *cell, const char *key);

/* Returns the cell as nbformat 4.5 has it, with texts in one piece; the caller
 * owns it. */
json_t *notebook_cell_json(const notebook_cell_t *cell);

/* Reads the notebook in a file of nbformat 4, or of nbformat 3, which is
 * converted. -EINVAL and -EFBIG say what is wrong, and in which cell; nothing
 * is to be cleared after a failure. `name` is for faults. */
int notebook_read(const char *path, notebook_t *ret_notebook, fault_t *fault);
/* Reads a notebook like notebook_read, but the cells' outputs stay in the file:
 * memory does not grow with them. A regular file is mapped until notebook_clear
 * and must not become shorter meanwhile. Others are read as notebook_read reads
 * them. */
int notebook_open(const char *path, notebook_t *ret_notebook, fault_t *fault);
/* Does the same with a regular file that is open and which no other program
 * changes. It may be of any size. The caller closes it; `name` is for faults.
 */
int notebook_map(int fd, const char *name, notebook_t *ret_notebook,
                 fault_t *fault);
/* Makes sure that the outputs are there, or that they are not when they can be
 * had again. */
void notebook_cell_load(notebook_cell_t *cell);
void notebook_cell_unload(notebook_cell_t *cell);
/* Returns where the memory begins that the cell's text keeps in a mapped file:
 * a multiple of 64 KiB, or the file's beginning. Returns NULL if the cell is in
 * no mapped file. */
const char *notebook_cell_pages(const notebook_cell_t *cell);
int notebook_parse(const char *text, size_t size, const char *name,
                   notebook_t *ret_notebook, fault_t *fault);

#endif
