/* HTML of a recording, by way of nbconvert. */
#ifndef HEARTH_GATEWAY_CLI_HTML_H
#define HEARTH_GATEWAY_CLI_HTML_H

#include "gateway/cli/recorded.h"

#include <stdbool.h>

/* Writes the page to the file, or to standard output when it is NULL, and says
 * what is wrong. Outputs are cleaned of what could run in the reader's browser,
 * unless `has_scripts`. */
gateway_exit_t html_export(const recorded_t *session, bool has_scripts,
                           const char *output);

#endif
