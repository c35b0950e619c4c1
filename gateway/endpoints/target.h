/* A session that endpoints lead to, as it describes itself. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_TARGET_H
#define HEARTH_GATEWAY_ENDPOINTS_TARGET_H

#include "notebooks/journal/index.h"
#include "protocol/limits.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    char id[FRONTEND_ID_MAX];
    char *journal;         /* owned; its folder, once it has sent HELLO */
    uint64_t seq;          /* the last record that it reported */
    journal_index_t index; /* where in the journal things are */
    bool is_greeted;       /* HELLO has come */
    bool is_gone;
    bool is_lost; /* it is to be attached again */
} endpoint_target_t;

#endif
