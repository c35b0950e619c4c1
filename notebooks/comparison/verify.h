/* Checks that a recording is unchanged: a journal by its chain and its head, a
 * notebook by its seals, and one against the other. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_VERIFY_H
#define HEARTH_NOTEBOOKS_COMPARISON_VERIFY_H

#include "notebooks/formats/notebook.h"
#include "notebooks/journal/record.h"

/* The result of a check, in sentences. */
typedef struct {
    json_t *problems;    /* owned; array: changed, removed, cut off */
    json_t *remarks;     /* owned; array: what cannot be known */
    uint64_t records;    /* good records of the journal */
    size_t cells;        /* cells of the notebook */
    journal_head_t head; /* the journal's end, or what the notebook carries */
} verify_t;

void verify_clear(verify_t *self);
#define cleanup_verify CLEANUP(verify_clear)

/* Checks a journal. What is wrong with it is in *ret_verify, which the caller
 * clears. A negative result says that the journal could not be read at all.
 * `key` is the journal's, or NULL for the public one. */
int verify_journal(const char *journal_folder, const uint8_t *key,
                   verify_t *ret_verify, fault_t *fault);
/* Checks a notebook as verify_journal checks a journal. `journal_folder` is
 * that of the session which the notebook names, or NULL if that journal is not
 * here. */
int verify_notebook(const notebook_t *notebook, const uint8_t *key,
                    const char *journal_folder, verify_t *ret_verify,
                    fault_t *fault);

#endif
