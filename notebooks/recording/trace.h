/* A run as a time line: requests, their effects and costs, the limits that were
 * hit, and events of the kernel between the cells. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_TRACE_H
#define HEARTH_NOTEBOOKS_RECORDING_TRACE_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <jansson.h>

typedef struct {
    json_t *rows;     /* owned; in the journal's order */
    json_t *open;     /* owned; request number -> row that has no reply */
    json_t *moved;    /* owned; path -> true: files that others than cells put
                         or changed since the last cell ended */
    json_t *died;     /* borrowed from rows; the last cell in which the kernel
                         died, or NULL */
    json_int_t turns; /* execute_requests so far, silent ones left out */
} trace_t;

void trace_clear(trace_t *self);
#define cleanup_trace CLEANUP(trace_clear)

void trace_add(trace_t *self, const journal_record_t *record);

/* Reads a whole journal. The rows are an array, owned by the caller;
 * docs/reference/notebooks.md has their members. Returns -EBADMSG if the
 * journal is damaged; the rows then end before the damage. */
int trace_read(const char *journal_folder, const uint8_t *key,
               json_t **ret_rows, fault_t *fault);

#endif
