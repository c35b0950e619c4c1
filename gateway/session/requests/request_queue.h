/* The requests of a session in their order: those that wait, the one that
 * runs, and the last ones that were answered. It knows neither sockets nor a
 * kernel. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_REQUEST_QUEUE_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_REQUEST_QUEUE_H

#include "base/cleanup.h"
#include "gateway/session/requests/request.h"
#include "protocol/jspan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of answered requests that are remembered as parents of late
 * output. */
#define REQUEST_QUEUE_RECENT_MAX 64

/* The number of aborts that are remembered for requests that have not come. */
#define REQUEST_QUEUE_EARLY_MAX 256

typedef struct request_queue request_queue_t;

/* Returns an empty queue. `epoch` makes its numbers unique over the gateways
 * that serve one session. */
request_queue_t *request_queue_new(uint64_t epoch);
void request_queue_destroy(request_queue_t **self_p);
#define cleanup_request_queue CLEANUP(request_queue_destroy)

/* Returns a number that no request of the session has had. */
uint64_t request_queue_number(request_queue_t *self);

/* Remembers that a msg_id was used; returns true if it was used before. */
void request_queue_note_id(request_queue_t *self, const char *msg_id);
bool request_queue_knows_id(const request_queue_t *self, const char *msg_id);

/* Notes that a request which has not come must not run: the client's abort took
 * another way and was faster. Does nothing for a msg_id that was used. Only the
 * newest REQUEST_QUEUE_EARLY_MAX, and up to as many before them, are known. */
void request_queue_abort_early(request_queue_t *self, const char *msg_id);
/* Returns true for such a msg_id. */
bool request_queue_is_aborted(const request_queue_t *self, const char *msg_id);

/* ---- those that wait ---- */

typedef enum {
    REQUEST_QUEUE_ROOM,     /* one more may wait */
    REQUEST_QUEUE_TOO_MANY, /* `max` requests wait */
    REQUEST_QUEUE_TOO_MUCH, /* some wait, and with this one more than
                               `max_bytes` */
} request_queue_room_t;

/* Decides if a request of `bytes` bytes may wait. It may have any size if no
 * other request waits. */
request_queue_room_t request_queue_room(const request_queue_t *self,
                                        size_t bytes, uint64_t max,
                                        uint64_t max_bytes);
/* Notes that a request was refused because the queue is full. Returns true if
 * it was the first one since a request was last pushed. */
bool request_queue_refuse(request_queue_t *self);

/* Adds a request at the end; it is taken. */
void request_queue_push(request_queue_t *self, request_t **request_p);
/* Removes the first request, which is the caller's; NULL if none waits. */
request_t *request_queue_pop(request_queue_t *self);
/* Does the same if its number is at most `last`. */
request_t *request_queue_pop_until(request_queue_t *self, uint64_t last);
/* Removes the first execute_request, skipping others; NULL if none waits. */
request_t *request_queue_pop_execute(request_queue_t *self);
/* Removes the request of that number; NULL if it does not wait. */
request_t *request_queue_take(request_queue_t *self, uint64_t number);
/* Returns the request of that number, lent; NULL if it does not wait. */
request_t *request_queue_find(request_queue_t *self, uint64_t number);
/* Returns the comm message of that number, lent; NULL if it does not wait. */
request_t *request_queue_find_comm(request_queue_t *self, uint64_t number);
/* Returns the first comm message that waits after `after`, lent; the first of
 * all if `after` is NULL. NULL if no further one waits. */
request_t *request_queue_next_comm(request_queue_t *self, request_t *after);
/* Returns the first request, lent; the next ones are at its `next`. */
const request_t *request_queue_first(const request_queue_t *self);
/* Returns the running or waiting request for the kernel that has the msg_id,
 * lent; NULL if no request has it. */
const request_t *request_queue_find_id(const request_queue_t *self,
                                       const char *msg_id);

size_t request_queue_size(const request_queue_t *self);
size_t request_queue_bytes(const request_queue_t *self);
/* Returns the bytes of all that wait and of the one that runs. */
size_t request_queue_held(const request_queue_t *self);

/* ---- the one that runs ---- */

/* Makes a request the running one; it is taken. None runs before. */
void request_queue_start(request_queue_t *self, request_t **request_p);
/* Returns the running request, lent; NULL if no request runs. */
request_t *request_queue_running(const request_queue_t *self);
/* Returns true if a cell runs. */
bool request_queue_runs_cell(const request_queue_t *self);
/* Returns true if the request of that number runs. */
bool request_queue_runs(const request_queue_t *self, uint64_t number);
/* Notes that the running request of that number, a cell, awaits, until it ends;
 * returns false if that cell does not run. */
bool request_queue_note_awaiting(request_queue_t *self, uint64_t number);
/* Returns true if a cell runs that awaits: comm messages need not wait. */
bool request_queue_is_awaiting(const request_queue_t *self);
/* Ends the running request, which is the caller's and is remembered. */
request_t *request_queue_finish(request_queue_t *self);

typedef enum {
    REQUEST_QUEUE_NO_INPUT,
    REQUEST_QUEUE_TEXT,     /* the running request waits for a line */
    REQUEST_QUEUE_PASSWORD, /* and does not show it */
} request_queue_input_t;

/* Sets what the running request waits for; it ends with the request. */
void request_queue_want_input(request_queue_t *self,
                              request_queue_input_t input);
request_queue_input_t request_queue_input(const request_queue_t *self);

/* ---- those that were answered ---- */

/* Remembers the header of an answered request. */
void request_queue_remember(request_queue_t *self, const request_t *request);
/* Returns the header of the request of that number, lent: the running one, a
 * remembered one, or a comm message that was begun beside a cell. Of size 0 if
 * it was forgotten. */
bytes_t request_queue_parent(const request_queue_t *self, uint64_t number);
/* Returns the header of the last answered request, lent; of size 0 if there is
 * none. */
bytes_t request_queue_last(const request_queue_t *self);

/* Returns the execution_count of the next stored cell; a new kernel begins
 * with 1. */
int64_t request_queue_next_count(const request_queue_t *self);
void request_queue_set_next_count(request_queue_t *self, int64_t count);
/* Sets it to what a reply's metadata says; does nothing if they do not. */
void request_queue_read_count(request_queue_t *self, jspan_t metadata);

#endif
