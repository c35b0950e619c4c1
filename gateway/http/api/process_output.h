/* The output of a program as the answer to one request: gathered until the
 * client's time is over, or the program has ended. It is the state of a
 * process_call with these functions. */
#ifndef HEARTH_GATEWAY_HTTP_API_PROCESS_OUTPUT_H
#define HEARTH_GATEWAY_HTTP_API_PROCESS_OUTPUT_H

#include "gateway/http/subscriptions/process_call.h"

typedef struct process_output process_output_t;

extern const process_call_ops_t process_output_ops;

/* Reads `encoding`, `wait` and `from` of the request. With `waits_for_end` the
 * answer has the end, if it comes in that time. Returns NULL if one of them is
 * wrong: then the request was answered. */
process_output_t *process_output_new(exchange_t *exchange, bool waits_for_end);
/* Frees it; the type is that of exchange_destroy_fn. */
void process_output_destroy(void **self_p);
/* Returns the offset of the first byte that the client asks for. */
json_int_t process_output_from(const process_output_t *self);

#endif
