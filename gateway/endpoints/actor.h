/* Doors: one for each viewer who comes over ZeroMQ with a key of his own. A
 * door is five sockets and a connection file; behind it stands a session,
 * which knows it as a front's viewer (docs/PROTOCOL.front.md) and whose own
 * key it has not. A thread of its own has them all. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_ACTOR_H
#define HEARTH_GATEWAY_ENDPOINTS_ACTOR_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/options.h"
#include "notebooks/journal/log_key.h"

#include <czmq.h>
#include <stdint.h>

#define DOORS_MAX 32

typedef struct doors doors_t;

/* Doors that a gateway before left are opened again. The management socket is
 * bound. `options` is borrowed. */
int doors_new(const options_t *options,
              const uint8_t journal_key[CHAIN_KEY_SIZE], doors_t **ret_doors,
              fault_t *fault);
/* Doors stay on disk, but for those of sessions that are gone. */
void doors_destroy(doors_t **self_p);

/* Orders; each is answered with {"status",…} under its token. `who` asks, as
 * the audit log names him. */
void doors_open(doors_t *self, const char *token, const char *who,
                const char *session, const char *profile, bool is_observing);
void doors_list(doors_t *self, const char *token);
void doors_close(doors_t *self, const char *token, const char *who,
                 const char *name);
/* How many are open, as far as doors_receive has heard. */
size_t doors_count(const doors_t *self);
/* To be polled; an answer is taken by doors_receive. Both are to be freed; both
 * are NULL when it was none. */
zsock_t *doors_socket(const doors_t *self);
void doors_receive(doors_t *self, char **ret_token, char **ret_answer);

#endif
