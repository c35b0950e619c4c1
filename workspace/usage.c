/* See usage.h. One thread at a time. A file with several names counts as a
 * part for each: all of its names are in the workspace, since a session can
 * link nothing out of it. */
#include "workspace/usage.h"

#include "base/buffer.h"
#include "workspace/walk.h"

#define BLOCK 512 /* st_blocks counts in these, whatever the file system */

struct measure {
    walk_t *walk; /* owned */
    usage_t usage;
};

uint64_t usage_on_disk(const struct stat *status)
{
    return (uint64_t) status->st_blocks * BLOCK;
}

int measure_new(int folder, measure_t **ret_measure, fault_t *fault)
{
    walk_t *walk;
    int r = walk_new(folder, WALK_DEPTH_MAX, true, &walk, fault);

    if (r < 0)
        return r;
    *ret_measure = mem_new(sizeof **ret_measure);
    (*ret_measure)->walk = walk;
    return 0;
}

void measure_destroy(measure_t **self_p)
{
    measure_t *self = *self_p;

    if (!self)
        return;
    walk_destroy(&self->walk);
    free(self);
    *self_p = NULL;
}

bool measure_step(measure_t *self, unsigned entries)
{
    walk_entry_t entry;

    while (entries--) {
        const struct stat *status = &entry.status;

        if (!walk_next(self->walk, &entry)) {
            self->usage.is_deeper = walk_is_cut(self->walk);
            return true;
        }
        self->usage.files++;
        self->usage.unreadable += entry.is_unreadable;
        self->usage.bytes += usage_on_disk(status)
                             / (S_ISDIR(status->st_mode) || !status->st_nlink
                                    ? 1
                                    : (uint64_t) status->st_nlink);
    }
    return false;
}

usage_t measure_result(const measure_t *self)
{
    return self->usage;
}
