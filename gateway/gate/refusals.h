/* Reports connections that the gate closes: a line in the log and a record in
 * the audit log, at a bounded rate for each reason. Belongs to one thread. */
#ifndef HEARTH_GATEWAY_GATE_REFUSALS_H
#define HEARTH_GATEWAY_GATE_REFUSALS_H

#include "base/cleanup.h"
#include "gateway/gate/port.h"
#include "gateway/gate/zmtp_follower.h"

typedef enum {
    REFUSAL_MEMORY,        /* its unfinished message is the oldest one */
    REFUSAL_SLOW_GREETING, /* TRAFFIC_GREETING_MS have passed */
    REFUSAL_STALLED,       /* GATE_STALLED_MS have passed */
    REFUSAL_PORT_FULL,     /* GATE_PORT_LINKS_MAX */
    REFUSAL_ALL_FULL,      /* TRAFFIC_LINKS_MAX, or few descriptors */
    REFUSAL_RULE,          /* plus the zmtp_verdict_t */
    REFUSAL_COUNT = REFUSAL_RULE + ZMTP_MANY_SUBSCRIPTIONS + 1,
} refusal_t;

typedef struct refusals refusals_t;

refusals_t *refusals_new(void);
void refusals_destroy(refusals_t **self_p);
#define cleanup_refusals CLEANUP(refusals_destroy)

/* Notes that a connection of `peer`, an address, was closed. */
void refusals_note(refusals_t *self, const gate_port_t *port, const char *peer,
                   refusal_t why);

#endif
