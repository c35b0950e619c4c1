/* See task_id.h. An id that a client sends is any text: only the one form that
 * is written here is read. */
#include "gateway/http/mcp/protocol/task_id.h"

#include <stdio.h>
#include <string.h>

bool task_id_read(const char *text, task_id_t *ret_id)
{
    const char *run;

    if (!text || strlen(text) != TASK_ID_SIZE - 1 || !uuid_begins(text)
        || text[UUID_SIZE] != '.')
        return false;
    run = text + UUID_SIZE + 1;
    if (!uuid_begins(run))
        return false;
    snprintf(ret_id->session, sizeof ret_id->session, "%.*s", UUID_SIZE, text);
    snprintf(ret_id->run, sizeof ret_id->run, "%s", run);
    return true;
}

const char *task_id_write(const char *session, const char *run,
                          char ret_text[TASK_ID_SIZE])
{
    snprintf(ret_text, TASK_ID_SIZE, "%.*s.%.*s", UUID_SIZE, session, UUID_SIZE,
             run);
    return ret_text;
}
