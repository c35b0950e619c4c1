/* See observer_rules.h. */
#include "protocol/observer_rules.h"

#include "protocol/json.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_ENDING "_request"

bool refusal_is_needless(const char *type)
{
    static const char *const types[] = {"kernel_info_request",
                                        "comm_info_request", "history_request",
                                        "is_complete_request"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

bool refusal_type(const char *type, char ret_type[REFUSAL_TYPE_SIZE])
{
    size_t size = strlen(type), ending = strlen(REQUEST_ENDING);

    if (size <= ending || size > 60
        || strcmp(type + size - ending, REQUEST_ENDING) != 0)
        return false;
    snprintf(ret_type, REFUSAL_TYPE_SIZE, "%.*s_reply", (int) (size - ending),
             type);
    return true;
}

void refusal_write(buffer_t *out, const char *ename, const char *sentence)
{
    buffer_format(out,
                  "{\"status\":\"error\",\"execution_count\":0,"
                  "\"ename\":\"%s\",\"evalue\":",
                  ename);
    json_quote_text(out, sentence);
    buffer_text(out, ",\"traceback\":[]}");
}
