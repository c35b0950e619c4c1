/* See tls_trust.h. OpenSSL verifies the chain, the dates and the name within
 * the handshake; here its verdict becomes a sentence that says what to do. */
#include "gateway/cli/client/tls_trust.h"

#include "base/environment.h"
#include "gateway/config/tls_password.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct tls_trust {
    SSL_CTX *context; /* owned; each connection counts as an owner */
};

void tls_trust_destroy(tls_trust_t **self_p)
{
    if (*self_p)
        SSL_CTX_free((*self_p)->context);
    free(*self_p);
    *self_p = NULL;
}

/* --- Files --- */

static int refuse(const char *path, const char *flaw, fault_t *fault)
{
    if (access(path, R_OK) < 0) {
        ERR_clear_error();
        return fault_set(fault, EINVAL, "%.120s: %s", path, strerror(errno));
    }
    const char *why = ERR_reason_error_string(ERR_peek_last_error());
    int r = fault_set(fault, EINVAL, "%.120s: %s%s%s%s", path, flaw,
                      why ? " (" : "", why ? why : "", why ? ")" : "");

    ERR_clear_error();
    return r;
}

static int read_authorities(SSL_CTX *context, const char *path, fault_t *fault)
{
    if (!path)
        path = environment_text(X509_get_default_cert_file_env());
    if (path && SSL_CTX_load_verify_locations(context, path, NULL) != 1)
        return refuse(path, "it has no certificates of authorities in PEM",
                      fault);
    if (!path && SSL_CTX_set_default_verify_paths(context) != 1)
        return fault_set(fault, EINVAL,
                         "OpenSSL cannot read the system's certificates; give "
                         "the gateway's authority by --ca FILE");
    return 0;
}

static int read_pair(SSL_CTX *context, const tls_files_t *files, fault_t *fault)
{
    if (!files->certificate && !files->key)
        return 0;
    if (!files->certificate || !files->key)
        return fault_set(fault, EINVAL,
                         "a client's certificate and its key belong together: "
                         "give --certificate and --key");
    SSL_CTX_set_default_passwd_cb(context, tls_password_refuse);
    if (SSL_CTX_use_certificate_chain_file(context, files->certificate) != 1)
        return refuse(files->certificate, "it has no certificate in PEM",
                      fault);
    if (SSL_CTX_use_PrivateKey_file(context, files->key, SSL_FILETYPE_PEM) != 1)
        return refuse(
            files->key,
            "it has no private key in PEM without a password that belongs to "
            "the certificate",
            fault);
    return 0;
}

/* Notes that the server asks for a certificate; OpenSSL then shows that of the
 * context, if there is one. */
static int on_asked(SSL *connection, void *arg)
{
    tls_peer_t *peer = SSL_get_app_data(connection);

    (void) arg;
    peer->was_asked = true;
    return 1;
}

/* Writes a name that the server has chosen without what a terminal would
 * obey. */
static void write_name(const char *text, buffer_t *out)
{
    buffer_text(out, out->size ? ", " : "");
    for (; *text; text++)
        buffer_format(out, "%c", *text >= ' ' && *text <= '~' ? *text : '?');
}

/* Writes a name of a certificate: one of a host, or an address. */
static void write_host(const GENERAL_NAME *name, buffer_t *out)
{
    char text[INET6_ADDRSTRLEN] = "";
    int size = 0;

    if (name->type == GEN_DNS) {
        cleanup_free char *host =
            mem_copy(ASN1_STRING_get0_data(name->d.dNSName),
                     (size_t) ASN1_STRING_length(name->d.dNSName));
        write_name(host, out);
    } else if (name->type == GEN_IPADD) {
        size = ASN1_STRING_length(name->d.iPAddress);
        inet_ntop(size == 4 ? AF_INET : AF_INET6,
                  ASN1_STRING_get0_data(name->d.iPAddress), text, sizeof text);
    }
    if (size == 4 || size == 16)
        write_name(text, out);
}

/* Keeps for which hosts a certificate is. OpenSSL forgets a refused one. */
static int on_verdict(int is_good, X509_STORE_CTX *verification)
{
    const SSL *connection = X509_STORE_CTX_get_ex_data(
        verification, SSL_get_ex_data_X509_STORE_CTX_idx());
    tls_peer_t *peer = SSL_get_app_data(connection);
    X509 *certificate = X509_STORE_CTX_get0_cert(verification);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    GENERAL_NAMES *names;
    char name[TLS_NAMES_SIZE];

    if (is_good)
        return 1;
    names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++)
        if (out.size < sizeof peer->names)
            write_host(sk_GENERAL_NAME_value(names, i), &out);
    GENERAL_NAMES_free(names);
    if (!out.size
        && X509_NAME_get_text_by_NID(X509_get_subject_name(certificate),
                                     NID_commonName, name, sizeof name)
               > 0)
        write_name(name, &out);
    snprintf(peer->names, sizeof peer->names, "%s",
             out.size ? (const char *) out.data : "no host");
    return 0;
}

int tls_trust_new(const tls_files_t *files, tls_trust_t **ret_trust,
                  fault_t *fault)
{
    cleanup_tls_trust tls_trust_t *self = mem_new(sizeof *self);
    int r;

    ERR_clear_error();
    self->context = SSL_CTX_new(TLS_client_method());
    if (!self->context)
        return fault_set(fault, EIO, "OpenSSL cannot start");
    if ((r = read_authorities(self->context, files->authorities, fault)) < 0
        || (r = read_pair(self->context, files, fault)) < 0)
        return r;
    SSL_CTX_set_verify(self->context, SSL_VERIFY_PEER, on_verdict);
    SSL_CTX_set_min_proto_version(self->context, TLS1_2_VERSION);
    SSL_CTX_set_cert_cb(self->context, on_asked, NULL);
    *ret_trust = take_ptr(self);
    return 0;
}

SSL *tls_trust_connection(const tls_trust_t *self, const char *host,
                          tls_peer_t *peer)
{
    SSL *connection = SSL_new(self->context);
    X509_VERIFY_PARAM *rules = connection ? SSL_get0_param(connection) : NULL;
    /* The macro of OpenSSL takes away a const. */
    cleanup_free char *announced = mem_text(host);

    if (!rules)
        return NULL;
    *peer = (tls_peer_t){0};
    SSL_set_app_data(connection, peer);
    /* An address is looked up among the certificate's addresses, and is not
     * announced: SNI is for names. */
    if (X509_VERIFY_PARAM_set1_ip_asc(rules, host) == 1)
        return connection;
    ERR_clear_error();
    if (SSL_set1_host(connection, host) == 1
        && SSL_set_tlsext_host_name(connection, announced) == 1)
        return connection;
    SSL_free(connection);
    return NULL;
}

/* --- Sentences --- */

static int explain_verdict(const tls_peer_t *peer, long verdict,
                           const char *place, fault_t *fault)
{
    static const struct {
        int verdict;
        const char *why;
    } known[] = {
        {X509_V_ERR_CERT_HAS_EXPIRED,
         "has expired; renew it, and let `hearth gateway reload` read it"},
        {X509_V_ERR_CERT_NOT_YET_VALID,
         "is not valid yet; are the clocks of both machines right?"},
        {X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, NULL},
        {X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, NULL},
        {X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, NULL},
    };
    const char *why = X509_verify_cert_error_string(verdict);

    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH
        || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
        return fault_set(fault, EPROTO,
                         "the certificate of %s is for %s; set HEARTH_URL to "
                         "the gateway's URL with a host that it is for",
                         place, peer->names);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].verdict != verdict)
            continue;
        if (known[i].why)
            return fault_set(fault, EPROTO, "the certificate of %s %s", place,
                             known[i].why);
        return fault_set(fault, EPROTO,
                         "the certificate of %s is signed by an authority that "
                         "is not trusted here; give the authority's file by "
                         "--ca FILE or SSL_CERT_FILE",
                         place);
    }
    return fault_set(fault, EPROTO, "the certificate of %s is refused: %s",
                     place, why);
}

/* Explains an error: an alert is the server's refusal, the rest is no TLS at
 * all. */
static int explain_error(bool is_certified, unsigned long error,
                         const char *place, fault_t *fault)
{
    const char *why = ERR_reason_error_string(error);
    bool is_alert = ERR_GET_LIB(error) == ERR_LIB_SSL
                    && ERR_GET_REASON(error) >= SSL_AD_REASON_OFFSET;

    if (is_alert)
        return fault_set(fault, EPROTO, "%s refuses the connection: %s%s",
                         place, why ? why : "no reason",
                         is_certified
                             ? "; is the certificate of --certificate signed "
                               "by its http/client_ca?"
                             : "");
    return fault_set(fault, EPROTO, "what answers at %s does not speak TLS: %s",
                     place, why ? why : "it sends something else");
}

int tls_trust_explain(SSL *connection, const char *place, fault_t *fault)
{
    const tls_peer_t *peer = SSL_get_app_data(connection);
    bool is_certified = SSL_get_certificate(connection);
    long verdict = SSL_get_verify_result(connection);
    unsigned long error = ERR_peek_error();

    ERR_clear_error();
    if (verdict != X509_V_OK)
        return explain_verdict(peer, verdict, place, fault);
    if (peer->was_asked && !is_certified)
        return fault_set(fault, EPROTO,
                         "%s asks for a client's certificate "
                         "(http/client_ca); give one by --certificate FILE and "
                         "--key FILE",
                         place);
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
    /* OpenSSL 3 reports with this a connection that ended without a goodbye. */
    if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        error = 0;
#endif
    if (error && ERR_GET_LIB(error) == ERR_LIB_SSL)
        return explain_error(is_certified, error, place, fault);
    return fault_set(fault, ECONNRESET, "%s has ended the connection", place);
}
