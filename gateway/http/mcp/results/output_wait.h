/* Until when a call waits for the output of a program beside the kernel. Pure:
 * times are arguments. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_OUTPUT_WAIT_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_OUTPUT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#define OUTPUT_WAIT_QUIET_MS 700 /* without output: an answer is whole */

typedef enum {
    FOLLOW_NOT,    /* it does not wait */
    FOLLOW_OUTPUT, /* until there is output */
    FOLLOW_QUIET,  /* until there is output, and no more for a moment */
    FOLLOW_END,    /* until the program has ended */
} output_follow_t;

typedef struct {
    output_follow_t follow;
    int64_t next;     /* offset of the next byte */
    int64_t known;    /* offset of the byte after the output that there was */
    bool has_output;  /* some came */
    int64_t heard_ms; /* monotonic; of the last of it */
    int64_t until_ms; /* monotonic; no answer is due later */
} output_wait_t;

/* Returns when the answer is due, monotonic, if nothing more comes; -1 if the
 * rest of the output that there was has to come first. */
int64_t output_wait_due(const output_wait_t *self);

#endif
