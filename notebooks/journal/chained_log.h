/* A log that shows whether somebody changed it: JSON lines, appended, each
 * with an HMAC over itself and the one before; files that rotate; and a head
 * that says which records there should be (docs/AUDIT.md). It bounds and
 * chains, and knows nothing of what the records say. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_H
#define HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/log_key.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LEDGER_LINE_MAX (16u << 10) /* bytes of a record */

typedef struct ledger ledger_t;

/* Opens the folder, which is made (mode 0700), for one writer. A record that
 * was cut off by a crash is taken away; what does not verify stays as it is,
 * and a new file begins behind it. Past `file_bytes` a file is followed by
 * the next; more than `files_max` are removed, the oldest first. */
int ledger_open(const char *folder, const uint8_t key[CHAIN_KEY_SIZE],
                uint64_t file_bytes, uint64_t files_max, ledger_t **ret_ledger,
                fault_t *fault);
void ledger_destroy(ledger_t **self_p);
#define cleanup_ledger CLEANUP(ledger_destroy)

/* What was found at the opening, a sentence, "" when all was well; lent. */
const char *ledger_flaw(const ledger_t *self);
/* Whether that was somebody's doing, and no crash. */
bool ledger_is_damaged(const ledger_t *self);

/* One record: the members of a JSON object, `"event":"x","y":1`, of one line
 * and no more than LEDGER_LINE_MAX. All of it or nothing is written. */
int ledger_append(ledger_t *self, const char *members, fault_t *fault);
/* To the disk. */
void ledger_flush(ledger_t *self);

/* What a reader is shown: a line without its newline, lent; false: enough. */
typedef bool ledger_each_t(void *arg, const char *line, size_t size);

typedef struct {
    uint64_t records;     /* that verify */
    uint64_t first, last; /* their numbers */
    uint64_t files;
    uint64_t flaws; /* places where the chain is broken */
    char text[256]; /* the first of them, "" when there is none */
} ledger_report_t;

/* Reads all of it, and tells what does not verify; a writer may be at work.
 * `each` may be NULL. */
int ledger_read(const char *folder, const uint8_t key[CHAIN_KEY_SIZE],
                ledger_each_t *each, void *arg, ledger_report_t *ret_report,
                fault_t *fault);

#endif
