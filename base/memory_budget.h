/* One bound for the bytes that sessions, frontends and the HTTP server hold for
 * others. Each of them has a share. A share may grow while it is at most twice
 * what is left of the whole. So a single share gets two thirds, n greedy shares
 * get 2/(2n + 1) each, and some is always left for the next one. This is the
 * "dynamic threshold" of A. K. Choudhury and E. L. Hahne, IEEE/ACM Transactions
 * on Networking 6(2), 1998. Threads may share a budget; a share belongs to one
 * thread. */
#ifndef HEARTH_BASE_MEMORY_BUDGET_H
#define HEARTH_BASE_MEMORY_BUDGET_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes that each share may always hold; they are not counted. */
#define MEMORY_FREE (256u << 10)
/* How long a refusal makes the budget short, in ms. */
#define MEMORY_SHORT_MS 10000

typedef struct memory_budget memory_budget_t;

/* Returns a budget of `max` bytes, which must outlive its shares. */
memory_budget_t *memory_budget_new(uint64_t max);
void memory_budget_destroy(memory_budget_t **self_p);
#define cleanup_memory_budget CLEANUP(memory_budget_destroy)

uint64_t memory_budget_max(const memory_budget_t *self);
uint64_t memory_budget_held(const memory_budget_t *self);
/* Returns how often growth was refused. */
uint64_t memory_budget_refusals(const memory_budget_t *self);
/* Returns true if the growth of any share was refused a short time ago. */
bool memory_budget_is_short(const memory_budget_t *self);

typedef struct {
    memory_budget_t *budget; /* borrowed; NULL: there is no bound */
    uint64_t bytes;          /* that it holds */
} memory_share_t;

/* Sets the bytes that the share holds now, also if they were not permitted. 0
 * returns all of them; call it so before the share is destroyed. */
void memory_share_set(memory_share_t *self, uint64_t bytes);
/* Returns true if the share may hold `more` bytes in addition; with 0, if it
 * may hold what it holds. A refusal is counted. */
bool memory_share_permits(memory_share_t *self, uint64_t more);

#endif
