/* Collects the state of Jupyter widgets from their comm messages: a notebook's
 * metadata has it, so that a front end shows widgets without a kernel. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_WIDGETS_H
#define HEARTH_NOTEBOOKS_RECORDING_WIDGETS_H

#include "base/cleanup.h"
#include "notebooks/journal/record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Approximate limit of all states together. What exceeds it is left out. */
#define WIDGETS_BYTES_MAX ((size_t) 64 << 20)

typedef struct {
    json_t *models;   /* owned; comm_id -> a model as nbformat's metadata has
                         it; NULL: none was opened */
    size_t bytes;     /* their size, approximately */
    size_t bytes_max; /* 0: WIDGETS_BYTES_MAX */
    bool is_cut;      /* some were left out */
} widgets_t;

void widgets_clear(widgets_t *self);
#define cleanup_widgets CLEANUP(widgets_clear)

/* Returns true if widgets_add uses events of this kind. */
bool widgets_wants(const journal_record_t *record);
/* Adds one event; `content` is its content, parsed. */
void widgets_add(widgets_t *self, const journal_record_t *record,
                 const json_t *content);
/* Returns the member "widgets" of a notebook's metadata, for the caller to
 * free; NULL if there are no widgets. */
json_t *widgets_json(const widgets_t *self);

#endif
