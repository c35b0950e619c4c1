/* Files in Jupyter's runtime folder by which Jupyter's own programs find a
 * gateway: jpserver-PID.json with its URL and token, and a connection file
 * kernel-ID.json for each session that lives. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_DISCOVERY_DISCOVERY_H
#define HEARTH_GATEWAY_DISCOVERY_DISCOVERY_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/options.h"

#include <stdbool.h>

typedef struct discovery discovery_t;

/* Removes what a gateway of the same state folder has left when it was killed,
 * and opens the folder for this one's files. `*ret_discovery` is NULL if the
 * options switch it off. Must be called with the state folder's lock, before
 * this process enters a user namespace. The fault names the setting. */
int discovery_new(const options_t *options, discovery_t **ret_discovery,
                  fault_t *fault);
/* Removes all files of this gateway. Nothing is written after that. */
void discovery_withdraw(discovery_t *self_or_null);
/* Withdraws, and frees it. */
void discovery_destroy(discovery_t **self_p);
#define cleanup_discovery CLEANUP(discovery_destroy)

/* The HTTP side as it is bound. All is borrowed. */
typedef struct {
    const char *url;
    const char *ip;
    const char *base_url; /* begins and ends with a slash */
    const char *token;    /* "": no client needs one */
    int port;
    bool is_secure; /* HTTPS */
} discovery_server_t;

/* Writes jpserver-PID.json, as Jupyter Server does. This and the next one log
 * what cannot be written: no session depends on it. */
void discovery_publish_server(discovery_t *self_or_null,
                              const discovery_server_t *server);
/* Writes kernel-ID.json with what the session's connection file says. A file
 * that is in Jupyter's folder already is left to the program that owns it.
 * Returns false if the file could not be written. */
bool discovery_publish_kernel(discovery_t *self, const char *session,
                              const char *connection_file);
void discovery_remove_kernel(discovery_t *self, const char *session);

#endif
