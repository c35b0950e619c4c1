/* Checks the files of HTTPS with OpenSSL before libwebsockets loads them,
 * because libwebsockets reports a failure without its reason. */
#include "gateway/config/config_tls.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "gateway/config/tls_password.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SOON_SECONDS (7 * 86400)
#define FILE_MAX     (4u << 20) /* bytes of a file that is compared */

static void free_certificate(X509 **certificate_p)
{
    X509_free(*certificate_p);
}

static void free_key(EVP_PKEY **key_p)
{
    EVP_PKEY_free(*key_p);
}

#define cleanup_certificate CLEANUP(free_certificate)
#define cleanup_key         CLEANUP(free_key)

/* Reports an error such as: hearth.cfg:3: http/key = "/etc/key.pem": why. */
static void refuse(config_report_t *report, const char *key, const char *path,
                   int code, const char *why)
{
    cleanup_free char *place = config_report_prefix(report, key);

    config_report_error(report, code, "%s%s = \"%s\": %s", place, key, path,
                        why);
}

static FILE *open_file(config_report_t *report, const char *key,
                       const char *path)
{
    FILE *file = fopen(path, "re");

    if (!file)
        refuse(report, key, path, errno,
               errno == ENOENT ? "there is no such file" : strerror(errno));
    return file;
}

static X509 *read_certificate(config_report_t *report, const char *key,
                              const char *path)
{
    cleanup_file FILE *file = open_file(report, key, path);
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;

    ERR_clear_error();
    if (file && !certificate)
        refuse(report, key, path, EINVAL,
               "it has no certificate in PEM (-----BEGIN CERTIFICATE-----)");
    return certificate;
}

static EVP_PKEY *read_key(config_report_t *report, const char *path)
{
    cleanup_file FILE *file = open_file(report, "http/key", path);
    bool was_asked = false;
    EVP_PKEY *key =
        file ? PEM_read_PrivateKey(file, NULL, tls_password_refuse, &was_asked)
             : NULL;

    ERR_clear_error();
    if (file && !key)
        refuse(
            report, "http/key", path, EINVAL,
            was_asked
                ? "it has a password; the gateway needs a key without one"
                : "it has no private key in PEM (-----BEGIN PRIVATE KEY-----)");
    return key;
}

static void check_dates(config_report_t *report, const char *key,
                        const char *path, const X509 *certificate)
{
    cleanup_free char *place = config_report_prefix(report, key);
    time_t soon = time(NULL) + SOON_SECONDS;
    const ASN1_TIME *end = X509_get0_notAfter(certificate);
    const char *flaw = NULL;

    if (X509_cmp_current_time(end) < 0)
        flaw = "it has expired; clients refuse it";
    else if (X509_cmp_time(end, &soon) < 0)
        flaw = "it expires within a week";
    else if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        flaw = "it is not valid yet";
    if (flaw)
        config_report_warning(report, "%s%s = \"%s\": %s", place, key, path,
                              flaw);
}

static void check_pair(const options_http_t *http, config_report_t *report)
{
    cleanup_certificate X509 *certificate =
        read_certificate(report, "http/certificate", http->certificate);
    cleanup_key EVP_PKEY *key = read_key(report, http->key);

    if (certificate)
        check_dates(report, "http/certificate", http->certificate, certificate);
    if (certificate && key && X509_check_private_key(certificate, key) != 1)
        refuse(report, "http/key", http->key, EINVAL,
               "it is not the key of http/certificate");
    ERR_clear_error();
}

void config_tls_check(const options_http_t *http, config_report_t *report)
{
    if (http->certificate && http->key)
        check_pair(http, report);
    else if (http->certificate)
        refuse(report, "http/certificate", http->certificate, EINVAL,
               "http/key is missing; they belong together");
    else if (http->key)
        refuse(report, "http/key", http->key, EINVAL,
               "http/certificate is missing; they belong together");
    if (!http->client_ca)
        return;
    cleanup_certificate X509 *authority =
        read_certificate(report, "http/client_ca", http->client_ca);
    if (authority)
        check_dates(report, "http/client_ca", http->client_ca, authority);
    if (!http->certificate)
        refuse(report, "http/client_ca", http->client_ca, EINVAL,
               "it is for HTTPS: http/certificate and http/key belong to it");
}

config_tls_digest_t config_tls_digest(const char *path_or_null)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    config_tls_digest_t digest = {{0}};
    fault_t fault;

    if (path_or_null && file_read(path_or_null, FILE_MAX, &text, &fault) == 0)
        (void) EVP_Digest(text.data, text.size, digest.bytes, NULL,
                          EVP_sha256(), NULL);
    if (text.size)
        OPENSSL_cleanse(text.data, text.size); /* a key is among them */
    return digest;
}
