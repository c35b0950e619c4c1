/* The output of one process beside the kernel on its way to clients: the latest
 * pieces, and the clients that follow it, each with a window. While a client
 * has not been sent everything, no more is read from the process. Pure: times
 * are arguments. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_FEED_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_FEED_H

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/session/requests/request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_RECENT_MAX (64u << 10) /* bytes that a new client gets */
/* bytes sent to a client and not taken */
#define PROCESS_WINDOW  (256u << 10)
#define PROCESS_VIEWERS 8
/* after this time a silent client is forgotten */
#define PROCESS_LEASE_MS 60000

typedef struct process_feed process_feed_t;

/* A piece for a client; lent until the feed is changed. */
typedef struct {
    const request_t *viewer; /* by which it follows */
    uint64_t offset;
    unsigned stream; /* keeper_stream_t */
    bytes_t bytes;
} process_piece_t;

process_feed_t *process_feed_new(void);
void process_feed_destroy(process_feed_t **self_p);
#define cleanup_process_feed CLEANUP(process_feed_destroy)

/* Adds a piece. Bytes that are known already are skipped: *ret_new is how many
 * bytes at its end are new. -EPROTO if bytes before it are missing. */
int process_feed_add(process_feed_t *self, uint64_t offset, unsigned stream,
                     bytes_t bytes, size_t *ret_new, fault_t *fault);
/* Returns the offset of the next byte. */
uint64_t process_feed_end(const process_feed_t *self);
/* Returns the offset of the oldest byte that it has. */
uint64_t process_feed_begin(const process_feed_t *self);

/* Returns true if the client of `request` follows, or may: fewer than
 * PROCESS_VIEWERS do. */
bool process_feed_has_place(const process_feed_t *self,
                            const request_t *request);
/* Has a client follow from `from`, or from the oldest byte after that; anew, if
 * it follows already. The request is taken. -EBUSY: too many follow. */
int process_feed_attach(process_feed_t *self, request_t **request_p,
                        uint64_t from, int64_t now_ms, fault_t *fault);
/* Returns true if a client follows. */
bool process_feed_has_viewers(const process_feed_t *self);
/* Returns the request by which the index-th client follows, lent; NULL after
 * the last one. */
const request_t *process_feed_viewer(const process_feed_t *self, size_t index);
/* Notes that the client of `request` has everything before `offset`. Returns
 * false if it does not follow. */
bool process_feed_taken(process_feed_t *self, const request_t *request,
                        uint64_t offset, int64_t now_ms);
/* Forgets the client of `request`. */
void process_feed_leave(process_feed_t *self, const request_t *request);
/* Forgets clients that have said nothing for too long. */
void process_feed_expire(process_feed_t *self, int64_t now_ms);

/* Returns the next piece that a client has room for, and counts it as sent.
 * Returns false if no client has to get a piece, or room for it. */
bool process_feed_next(process_feed_t *self, process_piece_t *ret_piece);
/* Returns true if a client has not been sent everything. */
bool process_feed_is_full(const process_feed_t *self);
/* Takes out a client that has been sent everything, so that it can get the end;
 * NULL if there is no such client. The request is the caller's. */
request_t *process_feed_finish(process_feed_t *self);

#endif
