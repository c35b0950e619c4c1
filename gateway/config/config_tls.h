/* The certificates of HTTPS, before the gateway starts. */
#ifndef HEARTH_GATEWAY_CONFIG_CONFIG_TLS_H
#define HEARTH_GATEWAY_CONFIG_CONFIG_TLS_H

#include "gateway/config/config_report.h"
#include "gateway/config/options.h"

/* Checks that certificate and key can be read, are a pair and have not expired,
 * and that certificates of clients can be read. */
void config_tls_check(const options_http_t *http, config_report_t *report);

typedef struct {
    uint8_t bytes[32];
} config_tls_digest_t;

/* Returns a digest of the file's content; zeros if the path is NULL or the file
 * cannot be read. */
config_tls_digest_t config_tls_digest(const char *path_or_null);

#endif
