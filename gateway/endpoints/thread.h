/* The thread for endpoints: its loop, what sessions report, time. It takes
 * control_request_t and sends control_answer_t (gateway/frontends/handover.h).
 */
#ifndef HEARTH_GATEWAY_ENDPOINTS_THREAD_H
#define HEARTH_GATEWAY_ENDPOINTS_THREAD_H

#include "base/fault.h"
#include "base/memory_budget.h"
#include "gateway/config/options.h"

#include <czmq.h>
#include <stdint.h>

/* The values from which the thread is made. */
typedef struct {
    const options_t *options; /* borrowed */
    memory_budget_t *memory;  /* borrowed */
    const uint8_t *journal_key;
    fault_t fault; /* of its making */
} endpoints_making_t;

/* Runs the thread: a zactor_fn. `args` is an endpoints_making_t, which is read
 * until the thread has signalled. */
void endpoints_thread(zsock_t *pipe, void *args);

#endif
