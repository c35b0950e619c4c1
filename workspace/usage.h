/* How much a workspace holds: bytes on disk (a sparse file counts what it
 * has), files and folders. Measured by a walk in slices, because a tree can
 * have millions of entries. What is open and already removed is not seen. */
#ifndef HEARTH_WORKSPACE_USAGE_H
#define HEARTH_WORKSPACE_USAGE_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

typedef struct {
    uint64_t bytes;
    uint64_t files;      /* of any kind, folders included */
    bool is_deeper;      /* than WALK_DEPTH_MAX: the rest was not counted */
    uint64_t unreadable; /* folders whose insides were not counted */
} usage_t;

uint64_t usage_on_disk(const struct stat *status);

typedef struct measure measure_t;

int measure_new(int folder, measure_t **ret_measure, fault_t *fault);
void measure_destroy(measure_t **self_p);
#define cleanup_measure CLEANUP(measure_destroy)

/* Looks at up to `entries` more. Returns true if all entries have been seen. */
bool measure_step(measure_t *self, unsigned entries);
/* Returns what was counted so far. */
usage_t measure_result(const measure_t *self);

#endif
