/* A folder in memory that a target writes to; it goes with the process. */
#ifndef HEARTH_TESTS_FUZZ_SCRATCH_H
#define HEARTH_TESTS_FUZZ_SCRATCH_H

#include "base/fd.h"

#include <stdlib.h>

/* Its path, once it was made. */
static char scratch[] = "/dev/shm/hearth-fuzz-XXXXXX";

static void scratch_remove(void)
{
    fault_t fault;

    path_remove_tree(scratch, &fault);
}

/* Once in a process. */
static void scratch_make(void)
{
    if (!mkdtemp(scratch))
        abort();
    atexit(scratch_remove);
}

#endif
