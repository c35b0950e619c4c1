/* The input on its way to a terminal's program. It is sent in pieces, and only
 * as far as the program reads. What waits has a bound and counts in the memory
 * of all clients. Plain data, initialised to zero; it sends nothing itself. */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_INPUT_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINAL_INPUT_H

#include "base/buffer.h"
#include "gateway/http/core/memory_quota.h"

#include <stdint.h>

#define TERMINAL_INPUT_MAX    (1u << 20)  /* bytes that wait */
#define TERMINAL_INPUT_WINDOW (64u << 10) /* bytes sent and not read */
#define TERMINAL_INPUT_PIECE  (32u << 10)

typedef struct {
    buffer_t waiting;
    uint64_t held;      /* bytes of it that count (memory_quota.h) */
    int64_t sent;       /* bytes */
    int64_t read;       /* bytes of them that the program has */
    bool is_sent_known; /* this gateway sent everything, or knows how much */
} terminal_input_t;

/* Adds input. Returns false, and adds nothing, if there is no room. */
bool terminal_input_add(terminal_input_t *self, memory_quotas_t *memory,
                        bytes_t text);
/* Lends the next piece that may be sent. Returns false if no piece may be sent
 * now. */
bool terminal_input_next(terminal_input_t *self, bytes_t *ret_piece);
/* Counts that piece as sent, and removes it. */
void terminal_input_sent(terminal_input_t *self, memory_quotas_t *memory,
                         size_t size);
/* Begins with what the program has read, as the session says. */
void terminal_input_begin(terminal_input_t *self, int64_t read);
void terminal_input_clear(terminal_input_t *self, memory_quotas_t *memory);

#endif
