/* Endpoints: one for each viewer that comes over ZeroMQ with a key of its own.
 * An endpoint is five sockets and a connection file. Its session knows the
 * viewer as a client of a frontend (docs/design/PROTOCOL.attach.md); the
 * viewer does not have the session's own key. One thread has all endpoints. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_ACTOR_H
#define HEARTH_GATEWAY_ENDPOINTS_ACTOR_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/memory_budget.h"
#include "gateway/config/options.h"
#include "notebooks/journal/log_key.h"

#include <czmq.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct endpoints endpoints_t;

/* Starts the thread, which opens again what an earlier gateway left. The
 * management socket is bound before. `options` and `memory`, the bound of what
 * lies here for viewers, are borrowed. */
int endpoints_new(const options_t *options, memory_budget_t *memory,
                  const uint8_t journal_key[LOG_KEY_SIZE],
                  endpoints_t **ret_endpoints, fault_t *fault);
/* Endpoints stay on disk, but for those of sessions that are gone. */
void endpoints_destroy(endpoints_t **self_p);
#define cleanup_endpoints CLEANUP(endpoints_destroy)

/* The properties of a new endpoint. */
typedef struct {
    const char *session; /* a whole id */
    const char *profile; /* the session's, by name */
    bool is_observing;   /* its viewer runs nothing */
} endpoint_wish_t;

/* Requests; each is answered with {"status",…} under its token. `who` asks, as
 * the audit log names it. */
void endpoints_open(endpoints_t *self, uint64_t token, const char *who,
                    const endpoint_wish_t *wish);
void endpoints_list(endpoints_t *self, uint64_t token);
void endpoints_close(endpoints_t *self, uint64_t token, const char *who,
                     const char *viewer);
/* Says that no session outlives this gateway: endpoints_destroy leaves no files
 * of endpoints. */
void endpoints_end_sessions(endpoints_t *self);
/* Returns how many are open, as far as endpoints_receive has learned. */
size_t endpoints_count(const endpoints_t *self);
/* Returns the socket to be polled for endpoints_receive. */
zsock_t *endpoints_socket(const endpoints_t *self);
/* Takes one message of the thread. Returns true if it is an answer: JSON text,
 * which the caller owns. */
bool endpoints_receive(endpoints_t *self, uint64_t *ret_token,
                       char **ret_answer);

#endif
