/* The authorities that a client of HTTPS trusts, and its own certificate.
 * Verification has no switch: without a trusted authority and the right name
 * there is no connection. One thread. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_TLS_TRUST_H
#define HEARTH_GATEWAY_CLI_CLIENT_TLS_TRUST_H

#include "base/buffer.h"
#include "base/fault.h"

#include <openssl/ssl.h>

#include <stdbool.h>

/* Files in PEM; each may be NULL. */
typedef struct {
    const char *authorities; /* NULL: SSL_CERT_FILE, or the system's */
    const char *certificate; /* of the client, with those that it needs */
    const char *key;         /* of that certificate */
} tls_files_t;

#define TLS_NAMES_SIZE 100

/* Facts that a connection has learned about its server. */
typedef struct {
    bool was_asked;             /* for a certificate of the client */
    char names[TLS_NAMES_SIZE]; /* for which a refused certificate is */
} tls_peer_t;

typedef struct tls_trust tls_trust_t;

/* Reads the files. -EINVAL if one of them is not what it should be. */
int tls_trust_new(const tls_files_t *files, tls_trust_t **ret_trust,
                  fault_t *fault);
void tls_trust_destroy(tls_trust_t **self_p);
#define cleanup_tls_trust CLEANUP(tls_trust_destroy)

/* Makes one side of a connection to a server that must prove to be `host`, a
 * name or an address. The caller frees it, and keeps `peer` as long. NULL if
 * OpenSSL refuses. */
SSL *tls_trust_connection(const tls_trust_t *self, const char *host,
                          tls_peer_t *peer);
/* Says why a connection failed, after OpenSSL did: -EPROTO if the server is
 * refused or refuses, which the same files do not change; -ECONNRESET if it
 * ended without a reason. */
int tls_trust_explain(SSL *connection, const char *place, fault_t *fault);

#endif
