/* A journal as a document: a notebook (nbformat 4.5) or Markdown. */
#ifndef HEARTH_NOTEBOOKS_EXPORT_H
#define HEARTH_NOTEBOOKS_EXPORT_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stdint.h>

typedef enum {
    EXPORT_IPYNB,    /* JSON as nbformat writes it: sorted, one blank */
    EXPORT_MARKDOWN, /* for people and terminals; images are named only */
} export_format_t;

/* Appends the document to `out`. -EBADMSG: the journal is damaged; the
 * document holds what stands before the damage. The same journal gives the
 * same document. */
int notebook_export(const char *journal_folder, const uint8_t *key,
                    export_format_t format, buffer_t *out, fault_t *fault);

/* The same to a file, replaced atomically; mode 0600. */
int notebook_save(const char *journal_folder, const uint8_t *key,
                  export_format_t format, const char *path, fault_t *fault);

#endif
