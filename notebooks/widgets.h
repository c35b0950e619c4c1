/* The state of Jupyter widgets, added up from what was said on their comms: a
 * notebook's metadata holds it, so that a front end shows them without a
 * kernel. */
#ifndef HEARTH_NOTEBOOKS_WIDGETS_H
#define HEARTH_NOTEBOOKS_WIDGETS_H

#include "base/cleanup.h"
#include "notebooks/journal/writer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* About: of all states together. What comes after that is left out. */
#define WIDGETS_BYTES_MAX ((size_t) 64 << 20)

typedef struct {
    json_t *models;   /* owned; comm_id -> a model as nbformat's metadata has
                         it; NULL: none was opened */
    size_t bytes;     /* of them, about */
    size_t bytes_max; /* 0: WIDGETS_BYTES_MAX */
    bool is_cut;      /* there was more */
} widgets_t;

void widgets_clear(widgets_t *self);
#define cleanup_widgets CLEANUP(widgets_clear)

/* Whether widgets_add makes something of such an event. */
bool widgets_wants(const journal_record_t *record);
/* One event; `content` is its own, parsed. */
void widgets_add(widgets_t *self, const journal_record_t *record,
                 const json_t *content);
/* The member "widgets" of a notebook's metadata, the caller's; NULL where there
 * are none. */
json_t *widgets_json(const widgets_t *self);

#endif
