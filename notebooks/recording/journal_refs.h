/* The outputs of a journal, by the names under which a client reads them: the
 * numbers of cells, and of programs beside the kernel. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_JOURNAL_REFS_H
#define HEARTH_NOTEBOOKS_RECORDING_JOURNAL_REFS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <stddef.h>
#include <stdint.h>

#define JOURNAL_REFS_BYTES (UINT64_C(96) << 20)

/* A cell that a kernel has begun. */
typedef struct {
    long long number;    /* as in Out[N] */
    uint64_t request;    /* number of its request */
    journal_mark_t mark; /* of the record that it begins */
} journal_ref_cell_t;

typedef struct {
    journal_ref_cell_t *cells; /* owned; by number, the newest cell of each */
    size_t cell_count;
    size_t cell_capacity;
    uint64_t *programs; /* owned; their numbers, in order */
    size_t program_count;
    size_t program_capacity;
} journal_refs_t;

void journal_refs_clear(journal_refs_t *self);
#define cleanup_journal_refs CLEANUP(journal_refs_clear)

/* Reads the newest part of the journal, of some JOURNAL_REFS_BYTES, until its
 * end, its first damage, or the time `until_ms` of the monotonic clock. What
 * was read by then is in *ret_refs, also on failure. */
int journal_refs_read(const char *folder, const uint8_t *key, int64_t until_ms,
                      journal_refs_t *ret_refs, fault_t *fault);

#endif
