/* A set of the msg_ids that a session has seen. It keeps a fingerprint of each
 * id in 9 to 18 bytes; the journal has the rest. When it is full, many of the
 * oldest are forgotten at once. */
#ifndef HEARTH_PROTOCOL_MSGID_SET_H
#define HEARTH_PROTOCOL_MSGID_SET_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct msgid_set msgid_set_t;

/* Returns an empty set, which the caller owns. The newest `max` ids are always
 * found. Up to `max` older ones may be found, too. */
#define MSGID_SET_MAX (7u << 19) /* 3,670,016: in 32 MiB, and twice that */
msgid_set_t *msgid_set_new(size_t max);
void msgid_set_destroy(msgid_set_t **self_p);
#define cleanup_msgid_set CLEANUP(msgid_set_destroy)

void msgid_set_add(msgid_set_t *self, const char *id);
/* Returns true for every id that was added and is not forgotten. */
bool msgid_set_has(const msgid_set_t *self, const char *id);
/* Return how many ids are known, and their memory in bytes. */
size_t msgid_set_count(const msgid_set_t *self);
size_t msgid_set_bytes(const msgid_set_t *self);

#endif
