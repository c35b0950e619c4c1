/* The session's share of the memory that the gateway may hold of messages
 * (base/memory_budget.h): the unfinished message of its kernel, what peers have
 * not taken, requests that wait. When the share is used up, its kernel is not
 * read and requests are refused. A kernel that stops in the middle of a message
 * while others are refused memory has to end. It decides; the session acts. */
#ifndef HEARTH_GATEWAY_SESSION_LIMITS_HELD_MEMORY_H
#define HEARTH_GATEWAY_SESSION_LIMITS_HELD_MEMORY_H

#include "base/cleanup.h"
#include "base/memory_budget.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HELD_MEMORY_LOOK_MS 500 /* between two looks */
/* Bytes that a kernel has to send within half of the patience. */
#define HELD_MEMORY_STALL_BYTES (64u << 10)

/* Bytes that a session holds. */
typedef struct {
    size_t link;     /* of messages on the link, both ways */
    size_t peers;    /* published and replied, and not taken */
    size_t requests; /* of requests that wait, and of the one that runs */
} held_memory_load_t;

/* The progress of a kernel's message. */
typedef struct {
    size_t unfinished; /* bytes of the message that has begun; 0: none */
    uint64_t received; /* bytes of the link so far */
    bool is_held;      /* the kernel is not read */
    bool may_end;      /* the kernel runs a request */
} held_memory_message_t;

typedef struct held_memory held_memory_t;

/* Returns a share that holds nothing. The budget is borrowed; NULL: no bound.
 * `patience_ms` is what a subscriber gets. */
held_memory_t *held_memory_new(memory_budget_t *budget, int64_t patience_ms);
/* Gives the share back. */
void held_memory_destroy(held_memory_t **self_p);
#define cleanup_held_memory CLEANUP(held_memory_destroy)

/* Counts what is held now. Returns true if it has to be counted again in a
 * moment, since peers take what they take without notice. */
bool held_memory_count(held_memory_t *self, const held_memory_load_t *load);
/* Returns true if the kernel may be read, which may bring `growth` bytes, and
 * counts what is held if that matters. Requests alone keep no kernel from being
 * read. */
bool held_memory_permits_reading(held_memory_t *self,
                                 const held_memory_load_t *load, size_t growth);
/* Returns true if requests of that many bytes may always wait. */
bool held_memory_is_free(size_t waiting);
/* Returns true if one more request of `bytes` bytes may wait; counts what is
 * held. */
bool held_memory_permits_request(held_memory_t *self,
                                 const held_memory_load_t *load, size_t bytes);
/* Returns true if the kernel has stopped in the middle of a message for too
 * long while memory is short: it has to end. `now` is monotonic, in ms. */
bool held_memory_is_stalled(held_memory_t *self,
                            const held_memory_message_t *message, int64_t now);
/* Returns the budget of memory in which the session has its share, lent; NULL
 * if it has a share in no budget. */
const memory_budget_t *held_memory_budget(const held_memory_t *self);

#endif
