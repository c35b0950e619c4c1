/* The certificate of HTTPS and its key, which can be renewed while clients are
 * connected: each handshake takes those that are loaded. In the thread of
 * HTTP. */
#ifndef HEARTH_GATEWAY_HTTP_SERVER_TLS_H
#define HEARTH_GATEWAY_HTTP_SERVER_TLS_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <openssl/ssl.h>

typedef struct tls tls_t;

/* Loads http/certificate, with the chain below it, and http/key. -EINVAL: a
 * file cannot be read, or they are no pair. */
int tls_new(const char *certificate, const char *key, tls_t **ret_tls,
            fault_t *fault);
void tls_destroy(tls_t **self_p);
#define cleanup_tls CLEANUP(tls_destroy)

/* Lets every handshake of this context take the pair that is loaded then.
 * `self` is borrowed as long as the context lives. */
void tls_install(tls_t *self, SSL_CTX *context);
/* Takes the pair of `*other_p` in place of the one that is loaded; connections
 * that exist keep theirs. */
void tls_renew(tls_t *self, tls_t **other_p);

#endif
