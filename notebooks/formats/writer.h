/* Forms of a notebook, each written cell by cell. */
#ifndef HEARTH_NOTEBOOKS_FORMATS_WRITER_H
#define HEARTH_NOTEBOOKS_FORMATS_WRITER_H

#include "notebooks/formats/notebook.h"

#include <stdio.h>

typedef struct {
    void (*begin)(FILE *out);
    void (*cell)(FILE *out, const notebook_cell_t *cell, size_t index);
    void (*end)(FILE *out, json_t *metadata, size_t count);
} notebook_writer_t;

extern const notebook_writer_t ipynb_writer; /* as nbformat writes it */
extern const notebook_writer_t whole_writer; /* ipynb with texts in one piece */
extern const notebook_writer_t page_writer;  /* HTML in which nothing acts */
extern const notebook_writer_t
    jsonl_writer; /* a cell a line; then the metadata */
extern const notebook_writer_t markdown_writer; /* for people and terminals */
extern const notebook_writer_t script_writer;   /* Python, cells after "# %%" */

#endif
