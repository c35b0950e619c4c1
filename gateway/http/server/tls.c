/* See tls.h. OpenSSL asks for the certificate in each handshake
 * (SSL_CTX_set_cert_cb), so that nothing of an earlier one stays, whatever the
 * kind of its key. A pair is tried in a context of its own first. A pair that
 * OpenSSL refuses, for example because its key is too short, must not reach a
 * handshake. */
#include "gateway/http/server/tls.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/config/tls_password.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tls {
    X509 *certificate;      /* owned */
    EVP_PKEY *key;          /* owned */
    STACK_OF(X509) * chain; /* owned; the certificates below the first one */
};

static void free_context(SSL_CTX **context_p)
{
    SSL_CTX_free(*context_p);
}

#define cleanup_context CLEANUP(free_context)

void tls_destroy(tls_t **self_p)
{
    tls_t *self = *self_p;

    if (!self)
        return;
    X509_free(self->certificate);
    EVP_PKEY_free(self->key);
    sk_X509_pop_free(self->chain, X509_free);
    free(self);
    *self_p = NULL;
}

static int refuse(const char *path, const char *why, fault_t *fault)
{
    ERR_clear_error();
    return fault_set(fault, EINVAL, "%s: %s", path, why);
}

static int read_certificates(tls_t *self, const char *path, fault_t *fault)
{
    cleanup_file FILE *file = fopen(path, "re");
    X509 *next;

    if (!file)
        return refuse(path, strerror(errno), fault);
    self->certificate =
        PEM_read_X509_AUX(file, NULL, tls_password_refuse, NULL);
    if (!self->certificate)
        return refuse(path, "it has no certificate in PEM", fault);
    self->chain = sk_X509_new_null();
    while ((next = PEM_read_X509(file, NULL, tls_password_refuse, NULL)))
        if (!self->chain || !sk_X509_push(self->chain, next)) {
            X509_free(next);
            return refuse(path, "OpenSSL cannot keep its chain", fault);
        }
    ERR_clear_error();
    return 0;
}

static int read_key(tls_t *self, const char *path, fault_t *fault)
{
    cleanup_file FILE *file = fopen(path, "re");

    if (!file)
        return refuse(path, strerror(errno), fault);
    self->key = PEM_read_PrivateKey(file, NULL, tls_password_refuse, NULL);
    return self->key
               ? 0
               : refuse(path, "it has no private key in PEM without a password",
                        fault);
}

static int try_pair(const tls_t *self, const char *path, fault_t *fault)
{
    cleanup_context SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    char why[256] = "OpenSSL cannot use it";

    if (context
        && SSL_CTX_use_cert_and_key(context, self->certificate, self->key,
                                    self->chain, 1)
               == 1)
        return 0;
    if (ERR_peek_error())
        ERR_error_string_n(ERR_peek_error(), why, sizeof why);
    return refuse(path, why, fault);
}

int tls_new(const char *certificate, const char *key, tls_t **ret_tls,
            fault_t *fault)
{
    cleanup_tls tls_t *self = mem_new(sizeof *self);
    int r;

    if ((r = read_certificates(self, certificate, fault)) < 0
        || (r = read_key(self, key, fault)) < 0
        || (r = try_pair(self, certificate, fault)) < 0)
        return r;
    *ret_tls = take_ptr(self);
    return 0;
}

/* Gives a handshake its certificate; OpenSSL's result: 1 to go on. */
static int on_handshake(SSL *connection, void *arg)
{
    const tls_t *self = arg;

    return SSL_use_cert_and_key(connection, self->certificate, self->key,
                                self->chain, 1)
           == 1;
}

void tls_install(tls_t *self, SSL_CTX *context)
{
    SSL_CTX_set_cert_cb(context, on_handshake, self);
}

void tls_renew(tls_t *self, tls_t **other_p)
{
    tls_t former = *self;

    *self = **other_p;
    **other_p = former;
    tls_destroy(other_p);
}
