/* What a kernel may say: one row a frame type. Everything that comes out of a
 * kernel is hostile; a frame that no row permits ends the session. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_PERMISSIONS_H
#define HEARTH_GATEWAY_SESSION_KERNEL_PERMISSIONS_H

#include "base/fault.h"
#include "gateway/session/state.h"
#include "protocol/frame.h"
#include "protocol/json.h"

/* The members of a STREAM's content, found in one pass: text may be long. */
typedef struct {
    json_span_t name, text;
} relay_stream_t;

relay_stream_t relay_stream(json_span_t content);

/* Checks type, state, sizes, JSON and the members that clients rely on.
 * -EPROTO with the rule that was broken. `ret_content` is the checked content
 * (an object). */
int relay_check(const frame_t *frame, life_t state, bool is_ready,
                json_span_t *ret_content, fault_t *fault);

/* Checks the members that clients rely on in the REPLY to a request that has
 * an answer. -EPROTO with the rule that was broken. */
int relay_check_answer(json_span_t content, bool is_execute, fault_t *fault);

#endif
