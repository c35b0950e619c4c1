/* Recorded calls of host tools, with their answers: a replay or a revival gives
 * them, and the session answers from them while it has them. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_TOOLS_TOOL_RECORDING_H
#define HEARTH_GATEWAY_SESSION_TOOLS_TOOL_RECORDING_H

#include "gateway/session/tools/tool_offer.h"
#include "protocol/jspan.h"

typedef struct tool_recording tool_recording_t;

/* Reads {"tools": as in an offer, "answers": [{"name", "arguments", and
 * "result" or "error": {"reason", "text"}}]}. -EINVAL says what is wrong. */
int tool_recording_read(bytes_t json, tool_recording_t **ret_recording,
                        fault_t *fault);
void tool_recording_destroy(tool_recording_t **self_p);
#define cleanup_tool_recording CLEANUP(tool_recording_destroy)

/* Returns the tools that were there, lent. */
const tool_offer_t *tool_recording_offer(const tool_recording_t *self);
/* Takes the first answer to a call of that tool with equal arguments that was
 * not taken yet. Numbers are equal if their values are. Both spans are lent;
 * the one that the answer does not have is ABSENT. Returns false if no such
 * answer is left. */
bool tool_recording_take(tool_recording_t *self, const char *name,
                         bytes_t arguments, jspan_t *ret_result,
                         jspan_t *ret_error);
/* Returns true if the answer that would be taken says that the session has what
 * it is about. */
bool tool_recording_is_there(tool_recording_t *self, const char *name,
                             bytes_t arguments);

#endif
