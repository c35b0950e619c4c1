/* Clients and one frontend of a session without sockets: what they send is
 * there when the session reads, and what they get is a deed (deeds.h). */
#ifndef HEARTH_TESTS_LIB_FAKE_CLIENTS_H
#define HEARTH_TESTS_LIB_FAKE_CLIENTS_H

#include "gateway/channels/channels.h"

/* Puts a request on a channel, whose msg_id is `id`. */
void fake_client_sends(channel_t channel, const char *id, const char *type,
                       const char *content);
/* Likewise, with metadata. */
void fake_client_sends_with(channel_t channel, const char *id, const char *type,
                            const char *content, const char *metadata);
/* Puts a request of the viewer "me" of the frontend "http" on its socket. */
void fake_frontend_sends(channel_t channel, const char *id, const char *type,
                         const char *content);
/* Takes back what the session has not read. */
void fake_clients_forget(void);

#endif
