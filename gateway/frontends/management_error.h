/* The answer of the management protocol to a request that failed; see
 * docs/design/PROTOCOL.management.md. */
#ifndef HEARTH_GATEWAY_FRONTENDS_MANAGEMENT_ERROR_H
#define HEARTH_GATEWAY_FRONTENDS_MANAGEMENT_ERROR_H

#include <jansson.h>

/* Returns {"status":"error","ename","evalue","exit_code"}, which the caller
 * owns. `evalue` is what `format` makes of the rest. */
json_t *management_error(const char *ename, int exit_code, const char *format,
                         ...) __attribute__((format(printf, 3, 4)));

#endif
