/* See management_error.h. */
#include "gateway/frontends/management_error.h"

#include <stdarg.h>
#include <stdio.h>

json_t *management_error(const char *ename, int exit_code, const char *format,
                         ...)
{
    char sentence[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    return json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename", ename,
                     "evalue", sentence, "exit_code", exit_code);
}
