/* A recording in a few numbers, for listings. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_SUMMARY_H
#define HEARTH_NOTEBOOKS_RECORDING_SUMMARY_H

#include "base/fault.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t cells;   /* requests to execute, silent ones too */
    uint64_t errors;  /* of them that ended in an error */
    uint64_t notes;   /* between them */
    uint64_t bytes;   /* of all records */
    int64_t began_us; /* first record */
    int64_t last_us;  /* last record */
    char reason[40];  /* why the session is gone, "" when it is not */
    bool is_damaged;
} summary_t;

/* Reads the summary of a recording, also of a damaged journal as far as it
 * goes. */
int summary_read(const char *journal_folder, const uint8_t *key,
                 summary_t *ret_summary, fault_t *fault);

#endif
