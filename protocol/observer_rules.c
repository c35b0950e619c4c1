/* See observer_rules.h. */
#include "protocol/observer_rules.h"

#include "protocol/jspan_write.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_ENDING "_request"

bool observer_rules_is_needless(const char *type)
{
    static const char *const types[] = {"kernel_info_request",
                                        "comm_info_request", "history_request",
                                        "is_complete_request"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return true;
    return false;
}

bool observer_rules_type(const char *type,
                         char ret_type[OBSERVER_RULES_TYPE_SIZE])
{
    size_t size = strlen(type), ending = strlen(REQUEST_ENDING);

    if (size <= ending || size > 60
        || strcmp(type + size - ending, REQUEST_ENDING) != 0)
        return false;
    snprintf(ret_type, OBSERVER_RULES_TYPE_SIZE, "%.*s_reply",
             (int) (size - ending), type);
    return true;
}

void observer_rules_write(buffer_t *out, const char *ename,
                          const char *sentence)
{
    jspan_write_begin(out);
    jspan_write_text(out, "status", "error");
    jspan_write_integer(out, "execution_count", 0);
    jspan_write_text(out, "ename", ename);
    jspan_write_text(out, "evalue", sentence);
    jspan_write_array(out, "traceback");
    jspan_write_end_array(out);
    jspan_write_end(out);
}
