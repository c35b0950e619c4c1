/* Folders and files for what a test writes: in TMPDIR, or in /tmp. */
#ifndef HEARTH_TESTS_LIB_TEMPORARY_H
#define HEARTH_TESTS_LIB_TEMPORARY_H

#include "base/buffer.h"

#include <stdlib.h>

/* Returns a template for mkdtemp or mkstemp, which the caller owns. */
static inline char *temporary_template(const char *name)
{
    const char *folder = getenv("TMPDIR");

    return mem_format("%s/hearth-test-%s-XXXXXX",
                      folder && *folder ? folder : "/tmp", name);
}

/* Makes a folder. Returns its path, which the caller owns; NULL on failure. */
static inline char *temporary_folder(const char *name)
{
    char *path = temporary_template(name);

    if (mkdtemp(path))
        return path;
    free(path);
    return NULL;
}

#endif
