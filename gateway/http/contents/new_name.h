/* The names that Jupyter gives to new files, one after the other until one is
 * free: "Untitled.ipynb", "Untitled1.ipynb"; of a copy "x-Copy1.ipynb". */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_NEW_NAME_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_NEW_NAME_H

#include "base/cleanup.h"

typedef struct {
    char *folder;       /* owned; below the workspace, "": the workspace */
    char *stem;         /* owned */
    char *end;          /* owned; ".ipynb" */
    const char *insert; /* borrowed; between the stem and a number */
    unsigned tries;     /* names that were made */
} new_name_t;

void new_name_clear(new_name_t *self);
#define cleanup_new_name CLEANUP(new_name_clear)

/* Begin with the folder's first name of a kind; they replace what was there. */
void new_name_set_file(new_name_t *self, const char *folder, const char *end);
void new_name_set_notebook(new_name_t *self, const char *folder);
void new_name_set_folder(new_name_t *self, const char *folder);
/* Begins likewise with the first name of a copy of the file `name`. A copy of a
 * copy is numbered as the first one is: "x-Copy3.tar.gz" is followed by
 * "x-Copy1.tar.gz". */
void new_name_set_copy(new_name_t *self, const char *folder, const char *name);

/* Returns the path with the next name; the caller owns it. */
char *new_name_next(new_name_t *self);

#endif
