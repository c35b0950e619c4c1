/* The cells of a profile's seed (gateway/config/seed.h), which a kernel that is
 * ready runs before any client has the session: one after the other, journaled
 * like others, with replies that go nowhere. It makes the requests and judges
 * the replies; the session acts. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_SEED_RUNNER_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_SEED_RUNNER_H

#include "base/cleanup.h"
#include "gateway/session/lifecycle/spec.h"
#include "gateway/session/requests/request.h"
#include "protocol/span.h"

typedef enum {
    SEED_RUNNER_GOES_ON,
    SEED_RUNNER_DONE,   /* the last cell went well */
    SEED_RUNNER_FAILED, /* the kernel has to end */
} seed_runner_verdict_t;

typedef struct seed_runner seed_runner_t;

/* Returns a runner that has not begun. `spec` is borrowed; its is_seeding and
 * seed_count are kept up to date. */
seed_runner_t *seed_runner_new(session_spec_t *spec);
void seed_runner_destroy(seed_runner_t **self_p);
#define cleanup_seed_runner CLEANUP(seed_runner_destroy)

/* Begins in a kernel that is ready. Returns false if the profile has no seed.
 */
bool seed_runner_begin(seed_runner_t *self);
/* Gives up what has begun. */
void seed_runner_stop(seed_runner_t *self);
/* Returns the request for the next cell, which is the caller's; NULL after the
 * last one. */
request_t *seed_runner_next(seed_runner_t *self);
/* Returns how many cells were begun. */
size_t seed_runner_cell(const seed_runner_t *self);
/* Judges the reply to a cell; after SEED_RUNNER_FAILED `ret_text` says what
 * failed. */
seed_runner_verdict_t seed_runner_judge(seed_runner_t *self, jspan_t content,
                                        char ret_text[200]);

#endif
