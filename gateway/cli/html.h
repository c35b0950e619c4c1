/* HTML of a recording, by way of nbconvert. */
#ifndef HEARTH_GATEWAY_CLI_HTML_H
#define HEARTH_GATEWAY_CLI_HTML_H

#include "gateway/cli/recorded.h"

/* To the file, or to standard output when it is NULL. Says what is wrong. */
gateway_exit_t html_export(const recorded_t *session, const char *output);

#endif
