/* See task_id.h. An id that a client sends is any text: only the one form that
 * is written here is read. */
#include "gateway/http/mcp/protocol/task_id.h"

#include <stdio.h>
#include <string.h>

#define UUID_SIZE (TASK_ID_PART - 1)

/* Returns true if the text begins with a UUID in small letters. */
static bool begins_with_uuid(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; i < UUID_SIZE; i++) {
        if (!text[i])
            return false;
        if (form[i] == '-' ? text[i] != '-'
                           : !strchr("0123456789abcdef", text[i]))
            return false;
    }
    return true;
}

bool task_id_read(const char *text, task_id_t *ret_id)
{
    const char *run;

    if (!text || strlen(text) != TASK_ID_SIZE - 1 || !begins_with_uuid(text)
        || text[UUID_SIZE] != '.')
        return false;
    run = text + UUID_SIZE + 1;
    if (!begins_with_uuid(run))
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
