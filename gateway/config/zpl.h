/* A ZPL file, line by line. */
#ifndef HEARTH_GATEWAY_CONFIG_ZPL_H
#define HEARTH_GATEWAY_CONFIG_ZPL_H

#include <stddef.h>

/* One line that says something; borrowed for the call. */
typedef struct {
    unsigned line;     /* from 1 */
    const char *path;  /* "a/b/c", of its name; of the one before when it has a
                          flaw */
    const char *value; /* NULL: a section */
    const char *flaw;  /* what is wrong with its form; NULL: nothing */
} zpl_item_t;

typedef void zpl_visit_fn(void *arg, const zpl_item_t *item);

/* Calls `visit` for each section and key in order, and for each line that is
 * wrong, with its flaw. `text` ends with a NUL. */
void zpl_read(const char *text, size_t size, zpl_visit_fn *visit, void *arg);

#endif
