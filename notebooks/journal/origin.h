/* The client of a request, and where its reply goes, as the session's journal
 * has it: for frontends that read there what a client has missed. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_ORIGIN_H
#define HEARTH_NOTEBOOKS_JOURNAL_ORIGIN_H

#include "base/buffer.h"
#include "notebooks/journal/index.h"
#include "protocol/channel.h"
#include "protocol/limits.h"
#include "protocol/message.h"

typedef struct {
    uint64_t number;   /* 0: no request */
    buffer_t header;   /* owned */
    channel_t channel; /* shell if the record has no other */
    char client[FRONTEND_CLIENT_MAX
                + 1]; /* of that frontend; "": of another one */
} origin_t;

#define ORIGIN_EMPTY                                                           \
    {                                                                          \
        .channel = CHANNEL_SHELL                                               \
    }

void origin_clear(origin_t *self);
#define cleanup_origin CLEANUP(origin_clear)

/* Reads a REQUEST record; `frontend` is the frontend that asks. */
void origin_read(origin_t *self, const journal_record_t *record,
                 const char *frontend);
/* Finds and reads the record of an earlier request; the other arguments are
 * those of journal_index_find_request. If the record was removed, only the
 * number is set. */
void origin_find(origin_t *self, journal_index_t *index, const char *folder,
                 const uint8_t *key, uint64_t number, const char *frontend);
/* Returns the request's header, lent. */
bytes_t origin_header(const origin_t *self);

#endif
