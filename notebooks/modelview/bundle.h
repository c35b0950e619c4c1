/* Chooses the one form of an output that a model gets. A MIME bundle has
 * several forms of the same thing. An image comes first, then a compact table,
 * Markdown, plain text and JSON. The text of an HTML page is used if there is
 * nothing else. */
#ifndef HEARTH_NOTEBOOKS_MODELVIEW_BUNDLE_H
#define HEARTH_NOTEBOOKS_MODELVIEW_BUNDLE_H

#include "notebooks/modelview/modelview.h"

/* The type of the form that kernels add to a table
 * (kernels/hearth_kernel/shell/compact.py). */
#define BUNDLE_TABLE "text/vnd.hearth.table"

typedef struct {
    bytes_t text;         /* borrowed from the output, or in `made` */
    buffer_t made;        /* owned */
    const char *mime;     /* borrowed; of an image or of what is named only */
    const json_t *value;  /* borrowed; of that type */
    const json_t *extras; /* borrowed; its metadata, or NULL */
    bool is_image;        /* `value` is one in base64 */
} bundle_t;

void bundle_clear(bundle_t *self);
#define cleanup_bundle CLEANUP(bundle_clear)

/* Chooses the form of an nbformat 4 output that is no error. With a text, or
 * else with the type and value of what can only be named. False: there is
 * nothing to show. */
bool bundle_choose(const json_t *output, bundle_t *ret_bundle);

/* Reads size and shape of an image; `ref` stays empty. */
void bundle_image(const bundle_t *self, modelview_image_t *ret_image);

#endif
