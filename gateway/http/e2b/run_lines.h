/* A run of code as E2B's interpreter streams it: one JSON object a line, made
 * of the records that the journal has of the run. Content comes from kernels,
 * which may say anything that is JSON. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_RUN_LINES_H
#define HEARTH_GATEWAY_HTTP_E2B_RUN_LINES_H

#include "base/buffer.h"
#include "notebooks/journal/record.h"

#include <jansson.h>
#include <stdbool.h>

/* Plain data, initialised to zero. */
typedef struct {
    bool has_error; /* an error was written: there is one at most */
    bool is_over;   /* the last line was written */
} run_lines_t;

/* Appends the lines of one record of the run. Its reply is the last one. */
void run_lines_add(run_lines_t *self, const journal_record_t *record,
                   buffer_t *out);
/* Appends an error, unless there was one. */
void run_lines_fail(run_lines_t *self, const char *name, const char *value,
                    buffer_t *out);
/* Appends the error of a reply, if the run failed, and the last line. */
void run_lines_end(run_lines_t *self, const json_t *reply, buffer_t *out);
/* Appends a line that says that the run goes on. */
void run_lines_keep_alive(buffer_t *out);

#endif
