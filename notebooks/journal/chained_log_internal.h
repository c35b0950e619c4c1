/* What the two halves of the ledger share; nobody else includes it. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_INTERNAL_H
#define HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_INTERNAL_H

#include "notebooks/journal/chained_log.h"

#define LEDGER_MAC_SIZE  32
#define LEDGER_TAIL      ",\"mac\":\"%s\"}\n"
#define LEDGER_TAIL_SIZE (sizeof ",\"mac\":\"" - 1 + 2 * LEDGER_MAC_SIZE + 3)
#define LEDGER_HEAD_SIZE (20 + 1 + 20 + 1 + 2 * LEDGER_MAC_SIZE + 1)

/* HMAC-SHA256 over the MAC before and the line up to its own. */
void ledger_mac(const uint8_t *key, const uint8_t *before, const void *line,
                size_t size, uint8_t ret_mac[LEDGER_MAC_SIZE]);
char *ledger_file_path(const char *folder, uint64_t number);
/* The files' numbers in order; to be freed. */
size_t ledger_files(const char *folder, uint64_t **ret_numbers);

/* The end of the last file, as its next writer finds it. */
typedef struct {
    uint64_t last;    /* number of the last record */
    uint64_t size;    /* bytes of whole records */
    uint64_t records; /* in this file */
    uint8_t mac[LEDGER_MAC_SIZE];
    bool is_whole; /* it verifies, and the head agrees */
    char flaw[256];
} ledger_tail_t;

int ledger_tail(const char *folder, uint64_t file, const uint8_t *key,
                ledger_tail_t *ret_tail, fault_t *fault);

#endif
