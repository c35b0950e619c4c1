/* Changes of variables and files by a cell, in words: from the objects that
 * docs/reference/notebooks.md describes. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_VARIABLES_H
#define HEARTH_GATEWAY_CLI_CLIENT_VARIABLES_H

#include "base/buffer.h"

#include <jansson.h>

/* "DataFrame 3x2", "list of 3"; untrusted text. */
void variables_describe(const json_t *variable, buffer_t *out);
/* "+ df DataFrame 3x2  ~ n list of 3, was list of 2  - tmp": appends nothing
 * when nothing happened. */
void variables_write(const json_t *difference, buffer_t *out);
/* "wrote out.csv, plot.png; removed old.csv" */
void variables_write_files(const json_t *files, buffer_t *out);

#endif
