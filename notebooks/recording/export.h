/* A session's journal as a document, written cell by cell: memory does not
 * grow with the journal. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_EXPORT_H
#define HEARTH_NOTEBOOKS_RECORDING_EXPORT_H

#include "notebooks/recording/recording.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum {
    EXPORT_IPYNB, /* nbformat 4.5 as nbformat writes it, sealed (notebook_mac.h)
                   */
    EXPORT_MARKDOWN, /* for people and terminals; images are named only */
    EXPORT_SCRIPT,   /* Python: the code, the rest as comments */
    EXPORT_JSONL,    /* a cell a line, texts in one piece */
    EXPORT_WHOLE,    /* nbformat 4.5 with texts in one piece, not sealed: for
                        reading it again */
    EXPORT_PAGE,     /* one HTML file in which nothing acts */
} export_format_t;

/* Sets the format of "ipynb", "md", "py", "jsonl", "html", or of a file whose
 * name ends so. Returns false if the name is or has another ending. */
bool export_format(const char *name, export_format_t *ret_format);

/* Writes a recording as a document. Returns -EBADMSG if the journal is damaged
 * or was cut off; the document then has the cells before the damage, and says
 * so. The same journal always gives the same document. */
int export_write(const char *journal_folder, const recording_options_t *options,
                 export_format_t format, FILE *out, fault_t *fault);

/* Writes the document to a file, replaced atomically, with mode 0600. */
int export_save(const char *journal_folder, const recording_options_t *options,
                export_format_t format, const char *path, fault_t *fault);

#endif
