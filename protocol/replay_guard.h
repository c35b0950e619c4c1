/* The signatures that a socket has seen, against replay: verified ones alone
 * enter. At its limit it forgets a tenth, the oldest. */
#ifndef HEARTH_PROTOCOL_REPLAY_GUARD_H
#define HEARTH_PROTOCOL_REPLAY_GUARD_H

#include "base/cleanup.h"
#include "protocol/secret.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct replay_guard replay_guard_t;

/* Returns an empty guard, which the caller owns. It keeps at most `limit`
 * signatures, and its memory grows with their number. */
replay_guard_t *replay_guard_new(size_t limit);
void replay_guard_destroy(replay_guard_t **self_p);
#define cleanup_replay_guard CLEANUP(replay_guard_destroy)

/* Adds a signature by its digest (secret_verify). Returns false if it was there
 * already. */
bool replay_guard_add(replay_guard_t *self,
                      const uint8_t digest[SECRET_DIGEST_SIZE]);

#endif
