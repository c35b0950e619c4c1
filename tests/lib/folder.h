/* A folder of its own for each test, under /tmp: the setup and the teardown of
 * a cmocka test, and the paths in it. */
#ifndef HEARTH_TESTS_LIB_FOLDER_H
#define HEARTH_TESTS_LIB_FOLDER_H

#include "base/buffer.h"
#include "base/fault.h"
#include "base/fd.h"

#include <stdio.h>
#include <stdlib.h>

static char folder[64];

static inline int make_folder(void **state)
{
    (void) state;
    (void) snprintf(folder, sizeof folder, "/tmp/hearth-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    (void) state;
    fault_t fault;
    return path_remove_tree(folder, &fault);
}

/* The caller frees it. */
static inline char *inside(const char *name)
{
    return mem_format("%s/%s", folder, name);
}

#endif
