/* Objects that one thread of the gateway hands to another: a pointer in a
 * message, which the receiver owns. */
#ifndef HEARTH_GATEWAY_FRONTENDS_HANDOVER_H
#define HEARTH_GATEWAY_FRONTENDS_HANDOVER_H

#include <czmq.h>

/* Destroys an object that no thread took, and sets the pointer to NULL. */
typedef void handover_destroy_fn(void **object_p);

/* Sends an object, which is taken, over a zsock_t or zactor_t. */
void handover_send(void *socket, void *object);
/* Returns the next object, which the caller owns. NULL if no object waits, or
 * if the owner ends the actor. */
void *handover_receive(void *socket);
/* Returns the object in a message; NULL if the message has no object. */
void *handover_unpack(zmsg_t *message);
/* Says that the actor sends nothing more. Called once, by its thread. */
void handover_finish(zsock_t *pipe);
/* Ends the actor and waits for it. Objects that it sent before handover_finish
 * are destroyed. */
void handover_end_actor(zactor_t **actor_p, handover_destroy_fn *destroy);

#endif
