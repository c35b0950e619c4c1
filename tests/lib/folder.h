/* A folder of its own for each test, in TMPDIR: the setup and the teardown of
 * a cmocka test or of a group, and the paths in it. A test of a group that has
 * a folder may have another one. */
#ifndef HEARTH_TESTS_LIB_FOLDER_H
#define HEARTH_TESTS_LIB_FOLDER_H

#include "base/buffer.h"
#include "base/fault.h"
#include "base/fd.h"
#include "tests/lib/temporary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[256];
static char outer_folder[256]; /* the group's, while a test has its own */

static inline int make_folder(void **state)
{
    cleanup_free char *made = temporary_folder("own");

    (void) state;
    (void) memcpy(outer_folder, folder, sizeof folder);
    (void) snprintf(folder, sizeof folder, "%s", made ? made : "");
    return made ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void) state;
    fault_t fault;
    int r = path_remove_tree(folder, &fault);

    (void) memcpy(folder, outer_folder, sizeof folder);
    outer_folder[0] = '\0';
    return r;
}

/* The caller frees it. */
static inline char *inside(const char *name)
{
    return mem_format("%s/%s", folder, name);
}

#endif
