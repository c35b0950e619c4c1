/* See management_error.h. */
#include "gateway/frontends/management_error.h"

#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Removes what is no UTF-8, and no JSON could have: texts of requests are cut
 * within a character. */
static void keep_characters(char *text)
{
    const char *end = text + strlen(text);
    char *to = text;

    for (const char *at = text; at < end;) {
        uint32_t code;
        size_t size = utf8_decode(at, end, &code);

        memmove(to, at, size);
        to += size;
        at += size ? size : 1;
    }
    *to = '\0';
}

json_t *management_error(const char *ename, int exit_code, const char *format,
                         ...)
{
    char sentence[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    keep_characters(sentence);
    return json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename", ename,
                     "evalue", sentence, "exit_code", exit_code);
}
