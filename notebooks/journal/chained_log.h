/* A log that shows if it was changed (docs/reference/audit.md). It has JSON
 * lines, each with an HMAC over itself and the line before, in files that
 * rotate. A head says which records there should be. It knows nothing of the
 * records' meaning. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_H
#define HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/log_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHAINED_LOG_LINE_MAX (16u << 10) /* bytes of a record */

typedef struct chained_log chained_log_t;

/* Opens the folder for one writer, and creates it with mode 0700. A record that
 * a crash has cut off is removed. Lines that do not verify are kept, and a new
 * file begins after them. A file of `file_bytes` is followed by the next; of
 * more than `files_max` the oldest are removed. */
int chained_log_open(const char *folder, const uint8_t key[LOG_KEY_SIZE],
                     uint64_t file_bytes, uint64_t files_max,
                     chained_log_t **ret_log, fault_t *fault);
void chained_log_destroy(chained_log_t **self_p);
#define cleanup_chained_log CLEANUP(chained_log_destroy)

/* Returns what was wrong at the opening, a sentence; "" if nothing was; lent.
 */
const char *chained_log_flaw(const chained_log_t *self);
/* Returns true if it was a change of the files, and not a crash. */
bool chained_log_is_damaged(const chained_log_t *self);

/* Appends one record: the members of a JSON object, `"event":"x","y":1`, in one
 * line of at most CHAINED_LOG_LINE_MAX. Writes all of it or nothing. */
int chained_log_append(chained_log_t *self, const char *members,
                       fault_t *fault);
/* Flushes to the disk. */
void chained_log_flush(chained_log_t *self);

/* Gets a line without its newline, lent; returns false to stop. */
typedef bool chained_log_each_t(void *arg, const char *line, size_t size);

typedef struct {
    uint64_t records;     /* number of records that verify */
    uint64_t first, last; /* their numbers */
    uint64_t files;
    uint64_t flaws; /* places where the chain is broken */
    char text[256]; /* the first of the flaws, or "" */
} chained_log_report_t;

/* Reads the whole log and reports what does not verify; a writer may be at
 * work. `each` may be NULL. */
int chained_log_read(const char *folder, const uint8_t key[LOG_KEY_SIZE],
                     chained_log_each_t *each, void *arg,
                     chained_log_report_t *ret_report, fault_t *fault);

#endif
