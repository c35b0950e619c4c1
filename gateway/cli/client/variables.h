/* Changes of variables and files by a cell, in words: from the objects that
 * docs/reference/notebooks.md describes. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_VARIABLES_H
#define HEARTH_GATEWAY_CLI_CLIENT_VARIABLES_H

#include "base/buffer.h"

#include <jansson.h>

/* Appends a description of a variable, "DataFrame 3x2" or "list of 3";
 * untrusted text. */
void variables_describe(const json_t *variable, buffer_t *out);
/* Appends a cell's changes of variables, with two spaces between them: "+ df
 * DataFrame 3x2", "~ n list of 3, was list of 2", "- tmp". Appends nothing if
 * no variable changed. Untrusted text. */
void variables_write(const json_t *difference, buffer_t *out);
/* Appends a cell's changes of files, if it made any: "wrote out.csv, plot.png;
 * removed old.csv". Untrusted text. */
void variables_write_files(const json_t *files, buffer_t *out);

#endif
