/* The end of a chained log, as its next writer finds it. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_TAIL_H
#define HEARTH_NOTEBOOKS_JOURNAL_CHAINED_LOG_TAIL_H

#include "base/fault.h"
#include "notebooks/journal/chained_log_format.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    uint64_t last;    /* number of the last record */
    uint64_t size;    /* bytes of whole records */
    uint64_t records; /* in this file */
    uint8_t mac[CHAINED_LOG_MAC_SIZE];
    bool is_whole; /* it verifies, and the head agrees */
    char flaw[256];
} chained_log_tail_t;

/* Reads the last file. In chained_log_reader.c. */
int chained_log_tail(const char *folder, uint64_t file, const uint8_t *key,
                     chained_log_tail_t *ret_tail, fault_t *fault);

#endif
