/* What a cell says, on its way to a person or into a JSON document. */
#ifndef HEARTH_GATEWAY_CLI_OUTPUTS_H
#define HEARTH_GATEWAY_CLI_OUTPUTS_H

#include "base/cleanup.h"

#include <jansson.h>
#include <stdbool.h>

typedef struct outputs outputs_t;

/* `folder`: where pictures are saved, or NULL. `is_json`: nothing is printed,
 * everything is collected. */
outputs_t *outputs_new(const char *folder, bool is_json);
void outputs_destroy(outputs_t **self_p);
#define cleanup_outputs CLEANUP(outputs_destroy)

/* One iopub message of the cell, or a "page" out of its reply's payload; other
 * types than outputs are ignored. False
 * when a picture could not be saved. */
bool outputs_add(outputs_t *self, const char *type, json_t *content);
/* One line about the end, on standard error; untrusted. */
void outputs_say(outputs_t *self, const char *text);
/* The prompt of input(). */
void outputs_prompt(outputs_t *self, const char *prompt);
/* The terminal's echo of the answer ended the line. */
void outputs_answered(outputs_t *self);
/* "running 12 s", on a terminal alone; it vanishes before the next output. */
void outputs_progress(outputs_t *self, long seconds);
/* Whether an error's traceback was printed or collected. */
bool outputs_has_error(const outputs_t *self);
/* Standard output at a line's start, colours off. */
void outputs_end(outputs_t *self);
/* The collected outputs, as in a notebook; lent. */
json_t *outputs_list(outputs_t *self);
/* The paths of saved pictures; lent. */
json_t *outputs_files(outputs_t *self);

#endif
