/* A program's output as a model reads it: the plain lines of its beginning and
 * of its end. Pure; memory is bounded, whatever the program writes. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_PROCESS_TEXT_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_PROCESS_TEXT_H

#include "base/buffer.h"

#include <stdint.h>

#define PROCESS_TEXT_HEAD (6u << 10) /* bytes of its beginning */
#define PROCESS_TEXT_TAIL (10u << 10)
#define PROCESS_TEXT_LINE (64u << 10) /* bytes of a line that has not ended */

typedef struct {
    buffer_t line;     /* owned; as it came: it has not ended */
    buffer_t head;     /* owned; plain */
    buffer_t tail;     /* owned; plain */
    uint64_t left_out; /* bytes between them */
} process_text_t;

void process_text_clear(process_text_t *self);
#define cleanup_process_text CLEANUP(process_text_clear)

/* Takes what the program has written next. */
void process_text_add(process_text_t *self, const void *bytes, size_t size);
/* Notes bytes that are lost; they follow the ones that were added. */
void process_text_skip(process_text_t *self, uint64_t count);
/* Appends the end of it, plain, with the last line as far as it has come. */
void process_text_last(const process_text_t *self, buffer_t *out);
/* Appends all of it, with a line that says what was left out, and that the tool
 * read_output has more of process `number`. The line that has not ended counts
 * as ended. */
void process_text_write(process_text_t *self, long long number, buffer_t *out);

#endif
