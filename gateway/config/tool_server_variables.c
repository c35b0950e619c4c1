/* See tool_server_variables.h. */
#include "gateway/config/tool_server_variables.h"

#include <stdlib.h>
#include <string.h>

#define BEFORE "env:" /* a name, in files of some clients */

bool tool_server_expand(const char *text, buffer_t *out, char **missing)
{
    bool has_any = false;
    const char *end;

    while (*text) {
        const char *value, *begin = text + 2;

        if (strncmp(text, "${", 2) != 0 || !(end = strchr(text, '}'))) {
            buffer_append(out, text++, 1);
            continue;
        }
        if (strncmp(begin, BEFORE, sizeof BEFORE - 1) == 0)
            begin += sizeof BEFORE - 1;
        cleanup_free char *name = mem_copy(begin, (size_t) (end - begin));

        value = getenv(name);
        if (value)
            buffer_text(out, value);
        else if (!*missing)
            *missing = mem_text(name);
        has_any = true;
        text = end + 1;
    }
    return has_any;
}
