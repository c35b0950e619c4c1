/* The id of a task: that of a session and that of a run, so that a task is
 * found in the session's journal, also by the next gateway. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_TASK_ID_H
#define HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_TASK_ID_H

#include "base/uuid.h"

#include <stdbool.h>

#define TASK_ID_PART (UUID_SIZE + 1)
#define TASK_ID_SIZE (2 * TASK_ID_PART) /* "SESSION.RUN" and a NUL */

typedef struct {
    char session[TASK_ID_PART];
    char run[TASK_ID_PART];
} task_id_t;

/* Reads an id. Returns false if the text, which may be NULL, has another form.
 */
bool task_id_read(const char *text, task_id_t *ret_id);
/* Writes an id. Returns `ret_text`. */
const char *task_id_write(const char *session, const char *run,
                          char ret_text[TASK_ID_SIZE]);

#endif
