/* Whose a request is, and where its reply goes, as the session's journal knows
 * it: for fronts that read there what a viewer has missed. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_ORIGIN_H
#define HEARTH_NOTEBOOKS_JOURNAL_ORIGIN_H

#include "base/buffer.h"
#include "notebooks/journal/index.h"
#include "protocol/channel.h"
#include "protocol/limits.h"
#include "protocol/message.h"

typedef struct {
    uint64_t number;   /* 0: of no request */
    buffer_t header;   /* owned */
    channel_t channel; /* shell, when nothing says another one */
    char viewer[FRONT_VIEWER_MAX + 1]; /* of that front; "": none of its */
} origin_t;

#define ORIGIN_EMPTY                                                           \
    {                                                                          \
        .channel = CHANNEL_SHELL                                               \
    }

void origin_clear(origin_t *self);
#define cleanup_origin CLEANUP(origin_clear)

/* What a REQUEST's record says; `front` is who asks. */
void origin_read(origin_t *self, const journal_record_t *record,
                 const char *front);
/* The same of a request that stands further in front; positions_find_request
 * has the other arguments. Where it is gone, only its number. */
void origin_find(origin_t *self, positions_t *positions, const char *folder,
                 const uint8_t *key, uint64_t number, const char *front);
/* Lent. */
bytes_t origin_header(const origin_t *self);

#endif
