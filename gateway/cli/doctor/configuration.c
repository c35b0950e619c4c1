/* Checks the configuration for hearth doctor: errors at which the gateway would
 * not start, its certificates, and whether its port is free. */
#include "gateway/cli/doctor/configuration.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/tcp.h"
#include "gateway/config/config_check.h"

#include <errno.h>
#include <string.h>

void doctor_check_configuration(report_t *report)
{
    const char *file = report->options->file;
    const char *text;
    bool is_error;
    size_t i;

    config_check(report->options, report->config);
    for (i = 0; (text = config_report_at(report->config, i, &is_error)); i++)
        doctor_add(report, "configuration",
                   is_error ? FOUND_MISSING : FOUND_LACKS,
                   "`hearth config explain KEY` describes the values of a key",
                   "%s", text);
    if (!i)
        doctor_add(report, "configuration", FOUND_OK, "", "%s",
                   file ? file : "no file: all defaults");
}

/* Tries to listen there, as a gateway would. */
static int try_port(const char *ip, unsigned port)
{
    cleanup_fd int fd = -1;
    tcp_address_t address;
    int r = tcp_address_set(&address, ip, port);

    return r < 0 ? r : tcp_listen(&address, 1, &fd);
}

void doctor_check_http(report_t *report)
{
    const options_http_t *http = &report->options->http;
    int r = http->enabled ? try_port(http->ip, (unsigned) http->port) : 0;
    const char *scheme = http->certificate ? "https" : "http";

    if (!http->enabled)
        doctor_add(report, "http", FOUND_OK, "", "off: http/enabled is no");
    else if (r == -EADDRINUSE && http->port_retries)
        doctor_add(report, "http", FOUND_OK, "",
                   "%s on %s: port %u is in use, perhaps by a gateway; one of "
                   "the next ones is used (http/port_retries)",
                   scheme, http->ip, (unsigned) http->port);
    else if (r < 0)
        doctor_add(
            report, "http", FOUND_MISSING,
            "choose another http/ip or http/port; ports below 1024 need root",
            "%s on %s port %u: %s", scheme, http->ip, (unsigned) http->port,
            strerror(-r));
    else
        doctor_add(report, "http", FOUND_OK, "", "%s on %s port %u", scheme,
                   http->ip, (unsigned) http->port);
}
