/* A journal as a document: a notebook (nbformat 4.5) or Markdown. */
#ifndef HEARTH_NOTEBOOKS_NOTEBOOK_H
#define HEARTH_NOTEBOOKS_NOTEBOOK_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stdint.h>

typedef enum {
    NOTEBOOK_IPYNB,    /* JSON as nbformat writes it: sorted, one blank */
    NOTEBOOK_MARKDOWN, /* for people and terminals; images are named only */
} notebook_format_t;

/* Appends the document to `out`. -EBADMSG: the journal is damaged; the
 * document holds what stands before the damage. The same journal gives the
 * same document. */
int notebook_export(const char *journal_folder, const uint8_t *key,
                    notebook_format_t format, buffer_t *out, fault_t *fault);

/* The same to a file, replaced atomically; mode 0600. */
int notebook_save(const char *journal_folder, const uint8_t *key,
                  notebook_format_t format, const char *path, fault_t *fault);

#endif
