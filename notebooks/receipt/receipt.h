/* A folder with what a session left, and a receipt for it: a signed statement
 * that names each file by its hash (docs/reference/receipts.md). */
#ifndef HEARTH_NOTEBOOKS_RECEIPT_RECEIPT_H
#define HEARTH_NOTEBOOKS_RECEIPT_RECEIPT_H

#include "notebooks/receipt/signing_key.h"

#include <jansson.h>

#define RECEIPT_FILE      "receipt.json"
#define RECEIPT_NOTEBOOK  "notebook.ipynb" /* an export, which must be there */
#define RECEIPT_FILES_MAX 1000             /* in the folder */

/* Writes the receipt of a folder's files. `version` is hearth's. -EINVAL: there
 * is something in the folder that is no file, has a name that is no UTF-8, or
 * too much. */
int receipt_write(const char *folder, const signing_key_t *key,
                  const char *version, fault_t *fault);

/* The result of a check. */
typedef struct {
    char *session;    /* owned; its id */
    size_t files;     /* files that are unchanged */
    json_t *problems; /* owned; array of sentences: changed, missing */
    json_t *remarks;  /* owned; array of sentences: not covered */
} receipt_report_t;

void receipt_report_clear(receipt_report_t *self);
#define cleanup_receipt_report CLEANUP(receipt_report_clear)

/* Compares a folder with its receipt. -EINVAL: that is no receipt; -EBADMSG:
 * it is not what that key has signed. */
int receipt_check(const char *folder, const signing_key_t *key,
                  receipt_report_t *ret_report, fault_t *fault);

#endif
