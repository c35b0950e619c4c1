/* Receipts on the command line: the gateway's key for them, and the result of a
 * check. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_RECEIPT_FOLDER_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_RECEIPT_FOLDER_H

#include "gateway/cli/core/command.h"
#include "notebooks/receipt/signing_key.h"

/* Reads the key from the state folder, and makes a missing one if `makes` is
 * true. Returns NULL after it printed what failed. */
signing_key_t *receipt_folder_key(const options_t *options, bool makes);

/* Compares a folder with its receipt, and prints what was found. `public_key`
 * is a file, or NULL for the gateway's own key. */
gateway_exit_t receipt_folder_verify(const options_t *options,
                                     const char *folder, const char *public_key,
                                     bool is_json);

#endif
