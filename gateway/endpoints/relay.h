/* Messages through an endpoint. In: requests that are signed with the viewer's
 * key. Out: messages of its session to all clients and to this viewer, signed
 * with the viewer's key. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_RELAY_H
#define HEARTH_GATEWAY_ENDPOINTS_RELAY_H

#include "gateway/endpoints/endpoint.h"
#include "protocol/wire.h"

/* Takes subscriptions and heartbeats from now on. */
void relay_listen(endpoint_t *self);
/* Takes requests from now on. */
void relay_begin(endpoint_t *self);
/* Passes an event of the session on, unless it waits in the journal. The
 * endpoints of the session share its content (wire_parts_t). */
void relay_on_event(endpoint_t *self, const frontend_event_t *event,
                    zmq_parcel_t **shared_p);
/* Disconnects peers that take nothing for too long. Called once a second. */
void relay_on_tick(endpoint_t *self, int64_t now_ms);

/* Sends to all subscribers: a message of the session; one that is made here;
 * a status. */
void relay_publish(endpoint_t *self, const wire_parts_t *parts);
void relay_publish_made(endpoint_t *self, const char *type, bytes_t parent,
                        bytes_t content);
void relay_publish_status(endpoint_t *self, const char *state, bytes_t parent);
/* Sends to one viewer. */
void relay_send(endpoint_t *self, channel_t channel, bytes_t client,
                const wire_parts_t *parts);
/* Returns true if too many published bytes wait there untaken. */
bool relay_is_full(endpoint_t *self);
/* Returns true if the viewer of this name came by this endpoint. */
bool relay_owns(const endpoint_t *self, bytes_t client);

#endif
