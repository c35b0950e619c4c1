/* The listening socket, the file with its URL, and the accepting of clients. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_LISTENER_H
#define HEARTH_GATEWAY_HTTP_SERVER_LISTENER_H

#include "gateway/discovery/discovery.h"
#include "gateway/http/server/server.h"

/* Binds the configured port, or one of the next ones, or any. */
int listener_bind(server_t *self, fault_t *fault);
/* Returns the URL, to be freed. */
char *listener_url(const server_t *self);
/* Writes the file with URL and token, which only this user can read. */
int listener_publish_url(const server_t *self, fault_t *fault);
/* Publishes the same for Jupyter's programs. */
void listener_discover(const server_t *self, discovery_t *discovery_or_null);
void listener_remove_url(const server_t *self);
/* Accepts some of the waiting clients; refuses them if there is no room. */
void listener_accept(server_t *self);

#endif
