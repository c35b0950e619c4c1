/* The plan of a revival: the cells that it runs, and the variables that are to
 * be back then. It is made from the session's recording alone. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_REVIVAL_PLAN_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_REVIVAL_PLAN_H

#include "base/cleanup.h"
#include "notebooks/formats/notebook.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    json_t *expected; /* owned; variables at the end of the recording */
    size_t first;     /* number of the first cell to run */
    bool has_gaps;    /* cells were given up to keep the journal's bound */
} revival_plan_t;

void revival_plan_clear(revival_plan_t *self);
#define cleanup_revival_plan CLEANUP(revival_plan_clear)

/* Makes the plan from the recording as a time line (trace_read) and as a
 * notebook. Cells and notes that the revival leaves out are marked in the
 * notebook with REPLAY_BROKEN_OFF or REPLAY_REPEATED. */
void revival_plan_make(const json_t *rows, notebook_t *notebook,
                       revival_plan_t *ret_plan);

#endif
