/* Which msg_ids a session was sent. A fingerprint of each is kept, not the id,
 * in 9 to 18 bytes: the journal has the rest. Of those without end the oldest
 * are forgotten, many at a time. */
#ifndef HEARTH_PROTOCOL_MSGID_SET_H
#define HEARTH_PROTOCOL_MSGID_SET_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct seen seen_t;

/* Of so many ids that came last each is known, and of twice as many some. */
#define SEEN_MAX (7u << 19) /* 3,670,016: in 32 MiB, and twice that */
seen_t *seen_new(size_t max);
void seen_destroy(seen_t **self_p);
#define cleanup_seen CLEANUP(seen_destroy)

void seen_add(seen_t *self, const char *id);
/* Never false for an id that was added and is not forgotten. */
bool seen_has(const seen_t *self, const char *id);
/* How many of them are known, and the bytes that they take. */
size_t seen_count(const seen_t *self);
size_t seen_bytes(const seen_t *self);

#endif
