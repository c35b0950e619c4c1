/* Writes a session's append-only log: clients see only what it holds. Format:
 * docs/reference/journal.md. No thread, no socket; one writer. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_WRITER_H
#define HEARTH_NOTEBOOKS_JOURNAL_WRITER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <stdint.h>

typedef struct journal journal_t;

typedef struct {
    uint64_t bytes_max; /* on disk, spilled parts included; 0: no bound */
    uint64_t spill_min; /* parts from this size on are spilled; 0: never */
} journal_options_t;

/* Opens or creates the log in `folder` (made when missing, 0700) for
 * appending. `key` (32 bytes, may be NULL: a fixed public one) chains the
 * records. A torn tail is cut off and reported in *ret_torn (bytes). */
int journal_open(const char *folder, const uint8_t *key,
                 const journal_options_t *options, journal_t **ret_journal,
                 uint64_t *ret_torn, fault_t *fault);
void journal_destroy(journal_t **self_p);
#define cleanup_journal CLEANUP(journal_destroy)

/* Closes its files and gives up the lock until something is appended; that
 * fails if another process has changed the files. */
void journal_rest(journal_t *self);
/* Opens the files again, as the next journal_append would. */
int journal_wake(journal_t *self, fault_t *fault);

uint64_t journal_last_seq(const journal_t *self);
/* Returns the latest that is not 0: after a restart it is the new kernel's. */
uint64_t journal_last_kernel_seq(const journal_t *self);
uint64_t journal_bytes(const journal_t *self);
/* Returns how often records were removed for the bound since it was opened. */
uint64_t journal_compactions(const journal_t *self);

#endif
