/* The messages that a kernel may send: one row a frame type. Everything that
 * comes out of a kernel is hostile; a frame that no row permits ends the
 * session. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_KERNEL_PERMISSIONS_H
#define HEARTH_GATEWAY_SESSION_KERNEL_KERNEL_PERMISSIONS_H

#include "base/fault.h"
#include "gateway/session/lifecycle/state.h"
#include "protocol/frame.h"
#include "protocol/jspan.h"

/* The members of a STREAM's content. */
typedef struct {
    jspan_t name, text;
} kernel_permissions_stream_t;

/* The members of a REPLY's content. */
typedef struct {
    jspan_t status, execution_count;
} kernel_permissions_reply_t;

/* The JSON of a frame, borrowed from it. */
typedef struct {
    jspan_t metadata;                   /* an object; absent: it has none */
    jspan_t object;                     /* all of the content */
    kernel_permissions_stream_t stream; /* of a STREAM alone */
    kernel_permissions_reply_t reply;   /* of a REPLY alone */
} kernel_permissions_content_t;

/* Checks type, state, sizes, JSON and the members that clients rely on.
 * -EPROTO with the rule that was broken. `ret_content` is what was
 * checked. */
int kernel_permissions_check(const frame_t *frame, session_phase_t state,
                             bool is_ready,
                             kernel_permissions_content_t *ret_content,
                             fault_t *fault);

/* Checks the status of the REPLY to a request that has an answer; clients rely
 * on it. -EPROTO with the rule that was broken. */
int kernel_permissions_check_answer(jspan_t status, bool is_execute,
                                    fault_t *fault);

#endif
